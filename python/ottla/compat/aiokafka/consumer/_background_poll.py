"""Polls the core in the background, so that the group goes on while the application does not read.

The task handles rebalances and calls the listener; it takes no records. Readers take them from the
core, and wake the task when there are none. Invariants: an error waits for one reader; a failed
poll is repeated only after a pause; an application that has not read for ``max_poll_interval_ms``
leaves its group, since the task stops polling in time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from ottla import AsyncConsumer
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._connection_options import log
from ottla.compat.aiokafka._error_mapping import read_error

__all__ = ["BackgroundPoll"]

_REBALANCE_CHECK_SECONDS = 0.1
_LONG_POLL_SECONDS = 600.0


class BackgroundPoll:
    """The task that polls, and the readers that wait for it."""

    def __init__(
        self,
        engine: AsyncConsumer,
        is_active: Callable[[], bool],
        retry_backoff: float,
        idle_limit: float,
    ) -> None:
        """Begin without a task; see ``start``.

        Args:
            engine: the consumer of ottla.
            is_active: whether anything is subscribed or assigned.
            retry_backoff: seconds before a failed poll is repeated.
            idle_limit: seconds without a reader after which the task stops polling.
        """
        self._engine = engine
        self._is_active = is_active
        self._retry_backoff = retry_backoff
        self._idle_limit = idle_limit
        self._loop = asyncio.get_running_loop()
        self._readers: list[asyncio.Future[None]] = []
        self._sleeping: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._task: asyncio.Task[None] | None = None
        self.last_read = time.monotonic()
        self.is_stopped = False

    def start(self) -> None:
        """Start the task."""
        self._task = self._loop.create_task(self._run())

    async def stop(self) -> None:
        """End the waits of readers, and then the task; the core is closed by then."""
        self.is_stopped = True
        self.wake_readers()
        if self._task is not None:
            self.resume()
            await asyncio.wait([self._task])

    def cancel(self) -> None:
        """End the task at once."""
        if self._task is not None and not self._loop.is_closed():
            self._task.cancel()

    def check_error(self) -> None:
        """Raise the error of the last failed poll, once."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def fail(self, error: Exception) -> None:
        """Let the next reader raise an error."""
        self._error = error
        self.wake_readers()

    def wake_readers(self) -> None:
        """Let all readers look again."""
        readers, self._readers = self._readers, []
        for reader in readers:
            if not reader.done():
                reader.set_result(None)

    def resume(self) -> None:
        """End the pause of the task, because there is something to poll for."""
        if self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_result(None)

    async def wait(self, timeout: float | None = None) -> None:
        """Wait until a reader should look again. A cancelled wait loses nothing.

        Args:
            timeout: seconds. Default: no limit.
        """
        reader = self._loop.create_future()
        self._readers.append(reader)
        self.resume()
        try:
            if timeout is None:
                await reader
            else:
                await asyncio.wait([reader], timeout=timeout)
        finally:
            if reader in self._readers:
                self._readers.remove(reader)
            self.last_read = time.monotonic()

    async def _run(self) -> None:
        while not self.is_stopped:
            try:
                await self._poll()
            except ottla_errors.ClosedError:
                return
            except ottla_errors.KafkaError as error:
                await self._process_error(error)
            except Exception as error:  # noqa: BLE001 - a reader raises it
                self.fail(error)
                await self._sleep(self._retry_backoff)

    async def _poll(self) -> None:
        left = self._seconds_left()
        if left <= 0 or not self._is_active():
            await self._sleep(None)
            return
        engine = self._engine
        is_ready = await engine._poll(  # noqa: SLF001 - the steps of a poll without its records
            lambda: engine._poll_records(left, None),  # noqa: SLF001
            lambda: True,
        )
        if is_ready:
            self.wake_readers()
            await self._sleep(_REBALANCE_CHECK_SECONDS)

    async def _process_error(self, error: ottla_errors.KafkaError) -> None:
        if not self._is_active():
            return
        if _is_late(error):
            log.info("the consumer has rejoined its group: %s", error)
            return
        self.fail(read_error(error))
        await self._sleep(self._retry_backoff)

    def _seconds_left(self) -> float:
        """The seconds for which the task may poll without a reader."""
        if self._readers:
            return _LONG_POLL_SECONDS
        return min(self.last_read + self._idle_limit - time.monotonic(), _LONG_POLL_SECONDS)

    async def _sleep(self, seconds: float | None) -> None:
        """Pause until ``resume``, or for some seconds; not at all if a reader waits."""
        if self.is_stopped or (self._readers and seconds == _REBALANCE_CHECK_SECONDS):
            return
        self._sleeping = self._loop.create_future()
        await asyncio.wait([self._sleeping], timeout=seconds)
        self._sleeping = None


def _is_late(error: ottla_errors.KafkaError) -> bool:
    """Whether an error only reports that the member was not polled in time."""
    return error.code is None and "max.poll.interval.ms" in str(error)
