"""A stopwatch that leaves out the time for which the machine, or this process, stood still.

For what has to be quick: a virtual machine whose host is busy stands still for a second now and
then, and what a test asserts of durations would be about that. A thread looks at the clock all the
while; what passes between two looks beyond what it slept is no time of the code under test. So the
watch is no judge of code that holds the GIL.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

_LOOK = 0.01
# Any machine is late by as much.
_USUAL = 0.02


def calmly(attempt: Callable[[], None]) -> None:
    """Do what is about fractions of a second; once more if it fails and the machine stood still
    meanwhile, for that shows nothing."""
    for _ in range(4):
        with Stopwatch() as watch:
            try:
                attempt()
            except Exception as error:  # noqa: BLE001 (raised again, unless it shows nothing)
                failure = error
            else:
                return
        if watch.stood_still < 0.1:
            raise failure
    attempt()


class Stopwatch:
    """`with Stopwatch() as watch: ...`; then `watch.seconds`, and `watch.stood_still`."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name="stopwatch", daemon=True)
        self._started = self._stopped = 0.0
        self.stood_still = 0.0
        """For how long nothing ran, in seconds."""

    @property
    def seconds(self) -> float:
        """For how long it ran, without the time in which nothing did."""
        until = self._stopped or time.monotonic()
        return until - self._started - self.stood_still

    def _look(self) -> None:
        before = time.monotonic()
        while True:
            ended = self._ended.wait(_LOOK)
            now = time.monotonic()
            late = now - before - _LOOK
            if late > _USUAL:
                self.stood_still += late
            if ended:
                return
            before = now

    def __enter__(self) -> Stopwatch:
        self._started = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # What the thread has not seen yet, it sees now.
        time.sleep(_LOOK)
        self._ended.set()
        self._thread.join()
        self._stopped = time.monotonic()
