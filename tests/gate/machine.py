"""What the machine did while a test ran: how long it was stopped, and how much of it was stolen.

A virtual machine whose host is busy stops for seconds, and its kernel counts what the host took as
stolen. Neither says anything about the code under test, so both stand beside a flaky test's name.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType

_INTERVAL = 0.02
# Any machine wakes a sleeping thread as late as this.
_USUAL_DELAY = 0.05
_TICKS_PER_SECOND = 100
_STAT = Path("/proc/stat")


class Machine:
    """Records stops and stolen time of the machine from a thread, while the `with` block runs."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="machine", daemon=True)
        # When each stop was seen, on the clock of `time.time`, and its length.
        self._stops: list[tuple[float, float]] = []
        self._stolen: list[tuple[float, float]] = []

    def stopped(self, since: float, until: float) -> float:
        """Return for how many seconds nothing ran between two times of `time.time`."""
        return sum(length for at, length in self._stops if since <= at <= until + length)

    def stolen(self, since: float, until: float) -> float:
        """Return the processor seconds that the host took between two times of `time.time`."""
        return sum(length for at, length in self._stolen if since <= at <= until + 1)

    def _watch(self) -> None:
        before, stolen_before = time.time(), _stolen_seconds()
        looked_at = before
        while not self._done.wait(_INTERVAL):
            now = time.time()
            late = now - before - _INTERVAL
            if late > _USUAL_DELAY:
                self._stops.append((now, late))
            if now - looked_at >= 1:
                looked_at, stolen = now, _stolen_seconds()
                if stolen > stolen_before:
                    self._stolen.append((now, stolen - stolen_before))
                stolen_before = stolen
            before = now

    def __enter__(self) -> Machine:
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
    """All processors' stolen time since the start; 0 where the kernel does not count it."""
    try:
        fields = _STAT.read_text().split("\n", 1)[0].split()
        return int(fields[8]) / _TICKS_PER_SECOND
    except (OSError, IndexError, ValueError):
        return 0.0
