"""When records are due, and what a client's run returns.

Invariant: a record that is sent late is measured from the time it was due, so that a client that
falls behind is not measured as if nothing had happened.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

VALUE_BYTES = 100
WARM = 1000


@dataclass(frozen=True)
class Schedule:
    """How many records are measured, after `WARM` others, and the seconds between two."""

    count: int
    interval: float

    @property
    def total(self) -> int:
        """All records, with those of the warm-up."""
        return WARM + self.count


class Pace:
    """An even pace: the time at which each record is due, and from which it is measured."""

    def __init__(self, schedule: Schedule) -> None:
        self._interval = schedule.interval
        self._due = time.perf_counter()

    def pause(self) -> float:
        """Return the seconds until the next record is due; not positive if it is late."""
        self._due += self._interval
        return self._due - time.perf_counter()

    def began(self, pause: float) -> float:
        """Return the time from which the record is measured, after the pause."""
        return self._due if pause <= 0 else time.perf_counter()

    def wait(self) -> float:
        """Wait until the next record is due; return the time from which it is measured."""
        pause = self.pause()
        if pause > 0:
            time.sleep(pause)
        return self.began(pause)


@dataclass(frozen=True)
class Run:
    """What a client's process measured: seconds of each record, and CPU seconds of one."""

    took: list[float]
    cpu: float


def measured(schedule: Schedule, work: Callable[[], list[float]]) -> Run:
    """Return what `work` took, without its warm-up."""
    before = time.process_time()
    took = work()
    return Run(took[-schedule.count :], (time.process_time() - before) / schedule.total)
