"""Measures how long the machine was paused during a test, and how much CPU time was stolen.

A virtual machine on a busy host pauses for seconds, and its kernel counts the time that the host
took as stolen. Both explain flaky tests, so the list of flaky tests shows them.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType

_INTERVAL = 0.02
# Delays up to this are normal when a thread wakes up.
_USUAL_DELAY = 0.05
_TICKS_PER_SECOND = 100
_STAT = Path("/proc/stat")


class MachineMonitor:
    """Records pauses and stolen time in a thread, while the `with` block runs."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="machine", daemon=True)
        # The end (by `time.time`) and the length of each pause.
        self._stops: list[tuple[float, float]] = []
        self._stolen: list[tuple[float, float]] = []

    def stopped(self, since: float, until: float) -> float:
        """Return the seconds of pauses between two times of `time.time`."""
        return sum(length for at, length in self._stops if since <= at <= until + length)

    def stolen(self, since: float, until: float) -> float:
        """Return the stolen CPU seconds between two times of `time.time`."""
        return sum(length for at, length in self._stolen if since <= at <= until + 1)

    def _watch(self) -> None:
        before, stolen_before = time.time(), _stolen_seconds()
        stolen_read_at = before
        while not self._done.wait(_INTERVAL):
            now = time.time()
            late = now - before - _INTERVAL
            if late > _USUAL_DELAY:
                self._stops.append((now, late))
            if now - stolen_read_at >= 1:
                stolen_read_at, stolen = now, _stolen_seconds()
                if stolen > stolen_before:
                    self._stolen.append((now, stolen - stolen_before))
                stolen_before = stolen
            before = now

    def __enter__(self) -> MachineMonitor:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()


def _stolen_seconds() -> float:
    """Return the stolen time of all CPUs since boot; 0 if the kernel does not count it."""
    try:
        fields = _STAT.read_text().split("\n", 1)[0].split()
        return int(fields[8]) / _TICKS_PER_SECOND
    except (OSError, IndexError, ValueError):
        return 0.0
