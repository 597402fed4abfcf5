"""The second run of what failed, and the list of what passed then.

Invariant: a failure never disappears. It fails the tier, or stands in the list, which fails the run
when it grows beyond `MOST_FLAKY`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.gate.machine import Machine

MOST_FLAKY = 3
"""More flaky tests than these in one run of all tiers fail it."""

LIST = Path(".ottla-build/gate/flaky.md")
"""The list of one run; `tools/tiers.sh` empties it when a run starts, and prints it at the end."""


@dataclass(frozen=True)
class Failure:
    """A test that failed, and when it ran, as times of `time.time`."""

    test: str
    started: float
    ended: float


def settle(
    tier: str, failures: Sequence[Failure], machine: Machine, run_alone: Callable[[str], bool]
) -> bool:
    """Run each failed test alone; return whether all passed and the list is short enough.

    Args:
        tier: the tier's name, for the list.
        failures: what failed, each test once.
        machine: what the machine did in the meantime.
        run_alone: runs a test by its name and returns whether it passed.
    """
    room = MOST_FLAKY - count()
    if len(failures) > room:
        print(
            f"\n{tier}: {len(failures)} tests failed; at most {MOST_FLAKY} in a run get a second"
            f" try, and {count()} had one before",
            flush=True,
        )
        return False
    settled = True
    for failure in failures:
        print(f"\n{tier}: once more, alone: {failure.test}", flush=True)
        if run_alone(failure.test):
            _record(tier, failure, machine)
        else:
            settled = False
    return settled


def count() -> int:
    """Return how many flaky tests this run has had."""
    return len(LIST.read_text().splitlines()) if LIST.exists() else 0


def _record(tier: str, failure: Failure, machine: Machine) -> None:
    stopped = machine.stopped(failure.started, failure.ended)
    stolen = machine.stolen(failure.started, failure.ended)
    line = (
        f"- {tier}: `{failure.test}` (ran {failure.ended - failure.started:.1f} s; meanwhile the"
        f" machine was stopped for {stopped:.1f} s and {stolen:.1f} s were stolen)\n"
    )
    LIST.parent.mkdir(parents=True, exist_ok=True)
    with LIST.open("a") as file:
        file.write(line)
    print(f"FLAKY {line[2:]}", end="", flush=True)
