"""Calls that wait for the cluster, each repeated in a thread of its own.

Invariant: the thread that draws never waits for the cluster, and no thread outlives the watch: the
client is closed first, which ends the calls that run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ottla.errors import KafkaError

T = TypeVar("T")

# Seconds for a call to end after its client was closed.
_JOIN = 5.0


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What the calls have returned so far.

    Attributes:
        calls: the number of calls that have ended.
        value: the result of the last one that succeeded, or None.
        since: when that was, by ``time.monotonic()``.
        error: the error of the last call, or None if it succeeded.
    """

    calls: int = 0
    value: T | None = None
    since: float = 0.0
    error: KafkaError | None = None


class Poller(Generic[T]):
    """Calls a function, and again some seconds after each call has ended, until it is stopped.

    Args:
        name: the name of its thread.
        interval: the seconds.
        function: the function. An error of the cluster is kept, and does not end the calls.
    """

    def __init__(self, name: str, interval: float, function: Callable[[], T]) -> None:
        self._interval = interval
        self._function = function
        self._outcome: Outcome[T] = Outcome()
        self._failure: Exception | None = None
        self._stopped = threading.Event()
        self._changed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def outcome(self) -> Outcome[T]:
        """What the calls have returned so far.

        Raises:
            Exception: what has ended them, which is a mistake in the function.
        """
        if self._failure is not None:
            raise self._failure
        return self._outcome

    def wait(self, seconds: float) -> None:
        """Wait until the first call has ended, but no longer than some seconds."""
        self._changed.wait(seconds)

    def stop(self) -> None:
        """Start no more calls."""
        self._stopped.set()

    def join(self) -> None:
        """Wait until the thread has ended, after ``stop()`` and the end of the client."""
        self._thread.join(_JOIN)

    def _run(self) -> None:
        while not self._stopped.is_set():
            last = self._outcome
            try:
                value = self._function()
                self._outcome = Outcome(last.calls + 1, value, time.monotonic())
            except KafkaError as error:
                self._outcome = Outcome(last.calls + 1, last.value, last.since, error)
            except Exception as error:  # noqa: BLE001  # raised where the outcome is read
                self._failure = error
                return
            finally:
                self._changed.set()
            self._stopped.wait(self._interval)
