"""Compares the outcomes of a suite with the control and with ottla's stand-in.

A suite fails if a test passes with the control, fails with the stand-in and is not listed in the
suite's `expected`, or if an entry of `expected` is stale. A test that the control does not pass
says nothing about the stand-in.

A test that failed may be run once more, with both: it counts as passed if it passed once, and is
reported as unstable. Invariant: a listed test is never run again, so that chance cannot hide it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.peer_suites.suite import Difference, covers

PASSED, FAILED, SKIPPED, CRASHED, MISSING = "passed", "failed", "skipped", "crashed", "missing"
"""Outcomes of a test. The process ended in a crashed one, and a missing one was not collected."""

Outcomes = Mapping[str, str]
"""Outcomes by node id."""


@dataclass(frozen=True)
class Comparison:
    """The result of a suite.

    Attributes:
        selected: the tests that ran with the control or with the stand-in.
        control: those that passed with the control.
        ours: those of `control` that passed with the stand-in.
        remainder: the others of `control` that are listed, with their entries.
        unlisted: the others of `control` that are not listed, with their outcomes.
        stale: entries that no test needs, with what is wrong with them.
        only_ours: tests that passed with the stand-in alone.
        unstable: tests that failed first and passed when they ran again, with who failed.
        ran: the date.
    """

    selected: Sequence[str]
    control: Sequence[str]
    ours: Sequence[str]
    remainder: Mapping[str, Difference]
    unlisted: Mapping[str, str]
    stale: Mapping[str, str]
    only_ours: Sequence[str]
    unstable: Mapping[str, str] = field(default_factory=dict)
    ran: str = ""

    @property
    def ok(self) -> bool:
        """Whether all differences are listed, and all that is listed differs."""
        return bool(self.control) and not self.unlisted and not self.stale

    @property
    def share(self) -> float:
        """The part of the control's passing tests that pass with the stand-in."""
        return len(self.ours) / len(self.control) if self.control else 0.0


def entry_of(test: str, expected: Mapping[str, Difference]) -> Difference | None:
    """Return the entry that covers a test."""
    return next((entry for key, entry in expected.items() if covers(key, test)), None)


def to_repeat(control: Outcomes, ours: Outcomes, expected: Mapping[str, Difference]) -> list[str]:
    """Return the tests to run once more with both: those that failed and are not listed."""
    failed = {FAILED, CRASHED}
    return sorted(
        test
        for test in {*control, *ours}
        if (control.get(test) in failed or ours.get(test) in failed)
        and entry_of(test, expected) is None
    )


def merge(first: Outcomes, again: Outcomes) -> dict[str, str]:
    """Return the outcomes after a second run of some tests: passed if a test passed once."""
    better = {test: again[test] for test in again if test in first and again[test] == PASSED}
    return {**first, **better}


def unstable(
    control: Outcomes, control_again: Outcomes, ours: Outcomes, ours_again: Outcomes
) -> dict[str, str]:
    """Return who failed first and passed then, by test."""
    found: dict[str, list[str]] = {}
    sides = (("control", control, control_again), ("ours", ours, ours_again))
    for name, first, again in sides:
        for test, outcome in again.items():
            if outcome == PASSED and first.get(test) in {FAILED, CRASHED}:
                found.setdefault(test, []).append(name)
    return {test: " and ".join(names) for test, names in sorted(found.items())}


def compare(
    control: Outcomes,
    ours: Outcomes,
    expected: Mapping[str, Difference],
    unstable_tests: Mapping[str, str] | None = None,
    ran: str = "",
) -> Comparison:
    """Compare the outcomes of a suite."""
    selected = sorted({*control, *ours})
    passes = [test for test in selected if control.get(test) == PASSED]
    differs = [test for test in passes if ours.get(test) != PASSED]
    entries = {test: entry_of(test, expected) for test in differs}
    return Comparison(
        selected=selected,
        control=passes,
        ours=[test for test in passes if ours.get(test) == PASSED],
        remainder={test: entry for test, entry in entries.items() if entry is not None},
        unlisted={t: ours.get(t, MISSING) for t, entry in entries.items() if entry is None},
        stale=_stale(expected, selected, ours),
        only_ours=[t for t in selected if ours.get(t) == PASSED and control.get(t) != PASSED],
        unstable=unstable_tests or {},
        ran=ran,
    )


def _stale(
    expected: Mapping[str, Difference], selected: Sequence[str], ours: Outcomes
) -> dict[str, str]:
    stale = {}
    for key, entry in expected.items():
        covered = [test for test in selected if covers(key, test)]
        if not covered:
            stale[key] = "no such test"
        elif entry.always and all(ours.get(test) == PASSED for test in covered):
            stale[key] = "passes"
    return stale
