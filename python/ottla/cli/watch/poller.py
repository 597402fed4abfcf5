"""Calls that wait for the cluster, each repeated in a task of its own.

Invariant: no code waits for these calls. The view shows their latest outcome, and the end of the
watch cancels them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ottla.errors import KafkaError

T = TypeVar("T")


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The outcome of the calls so far.

    Attributes:
        calls: the number of calls that have ended.
        value: the result of the last successful call, or None.
        since: the time of that result, by ``time.monotonic()``.
        error: the error of the last call, or None if it succeeded.
    """

    calls: int = 0
    value: T | None = None
    since: float = 0.0
    error: KafkaError | None = None


class Poller(Generic[T]):
    """Calls a function, and again some seconds after each call has ended, until it is stopped.

    Args:
        interval: the seconds between a call and the next one.
        function: the function. An error of the cluster is stored, and does not end the calls.
    """

    def __init__(self, interval: float, function: Callable[[], Awaitable[T]]) -> None:
        self._interval = interval
        self._function = function
        self._outcome: Outcome[T] = Outcome()
        self._ended = asyncio.Event()
        self._task = asyncio.ensure_future(self._run())

    @property
    def outcome(self) -> Outcome[T]:
        """The outcome of the calls so far.

        Raises:
            Exception: a bug in the function has ended the calls.
        """
        if self._task.done():
            self._task.result()
        return self._outcome

    async def wait_for_call(self, seconds: float) -> None:
        """Wait until the first call has ended, or until a timeout in seconds."""
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait(
                [self._task, ended], timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            ended.cancel()

    async def stop(self) -> None:
        """Cancel the running call, and make no further calls."""
        self._task.cancel()
        # The error of a call that failed in the meantime no longer matters.
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            last = self._outcome
            try:
                value = await self._function()
                self._outcome = Outcome(last.calls + 1, value, time.monotonic())
            except KafkaError as error:
                self._outcome = Outcome(last.calls + 1, last.value, last.since, error)
            self._ended.set()
            await asyncio.sleep(self._interval)
