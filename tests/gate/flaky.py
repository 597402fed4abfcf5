"""Reruns failed tests, and lists those that pass as flaky.

Invariant: no failure disappears. It fails the tier, or is listed, and more than `MAX_FLAKY` listed
tests fail the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.gate.machine import MachineMonitor

MAX_FLAKY = 3
"""The maximum number of flaky tests in one run of all tiers."""

FLAKY_LIST = Path(".ottla-build/gate/flaky.md")
"""The list of one run; `tools/tiers.sh` clears it at the start, and prints it at the end."""


@dataclass(frozen=True)
class Failure:
    """A failed test, with its start and end as returned by `time.time`."""

    test: str
    started: float
    ended: float


def rerun_failures(
    tier: str,
    failures: Sequence[Failure],
    machine: MachineMonitor,
    run_alone: Callable[[str], bool],
) -> bool:
    """Run each failed test alone; return whether all passed and the list is short enough.

    Args:
        tier: the tier's name, for the list.
        failures: the failed tests, each once.
        machine: the machine's pauses in the meantime.
        run_alone: runs a test by its name and returns whether it passed.
    """
    room = MAX_FLAKY - count()
    if len(failures) > room:
        print(
            f"\n{tier}: {len(failures)} tests failed; at most {MAX_FLAKY} in a run are retried, and"
            f" {count()} were retried before",
            flush=True,
        )
        return False
    all_passed = True
    for failure in failures:
        print(f"\n{tier}: again, alone: {failure.test}", flush=True)
        if run_alone(failure.test):
            _record(tier, failure, machine)
        else:
            all_passed = False
    return all_passed


def count() -> int:
    """Return the number of flaky tests in this run so far."""
    return len(FLAKY_LIST.read_text().splitlines()) if FLAKY_LIST.exists() else 0


def _record(tier: str, failure: Failure, machine: MachineMonitor) -> None:
    stopped = machine.stopped(failure.started, failure.ended)
    stolen = machine.stolen(failure.started, failure.ended)
    line = (
        f"- {tier}: `{failure.test}` (ran {failure.ended - failure.started:.1f} s; meanwhile, the"
        f" machine was paused for {stopped:.1f} s and {stolen:.1f} s were stolen)\n"
    )
    FLAKY_LIST.parent.mkdir(parents=True, exist_ok=True)
    with FLAKY_LIST.open("a") as file:
        file.write(line)
    print(f"FLAKY {line[2:]}", end="", flush=True)
