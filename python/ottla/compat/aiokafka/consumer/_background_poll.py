"""Polls the core in the background, so that the group goes on while the application does not read.

The task handles rebalances, calls the listener, and holds the records that readers wait for;
without readers it takes none. Invariants: an error waits for one reader; a failed poll is repeated
only after a pause; an application that has not read for ``max_poll_interval_ms`` leaves its group,
since the task stops polling in time. ``is_current`` is false from then until the next poll, since
the partitions may have another reader. Leaving a group takes time, and later changes of the
subscription or of positions wait for it.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence

from ottla import AsyncConsumer
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._connection_options import log
from ottla.compat.aiokafka._error_mapping import read_error
from ottla.compat.aiokafka.consumer._held_records import HeldRecords
from ottla.compat.aiokafka.consumer._options import ConsumerOptions
from ottla.compat.aiokafka.consumer._records import consumer_records
from ottla.compat.aiokafka.consumer._waiting_readers import Reader, WaitingReaders, complete

__all__ = ["BackgroundPoll"]

# For how long the task waits for the next reader before it polls without one, and a reader that
# does not wait for records for the task.
_BRIEF_SECONDS = 0.1
_LONG_POLL_SECONDS = 600.0
# How many records of a backlog a poll takes at once: its fixed costs are shared, and the loop is
# not blocked for long.
_POLLED_RECORDS = 2000


class BackgroundPoll:
    """The task that polls, and the readers that wait for it."""

    def __init__(
        self,
        engine: AsyncConsumer,
        held: HeldRecords,
        is_active: Callable[[], bool],
        options: ConsumerOptions,
        retry_backoff: float,
    ) -> None:
        """Begin without a task; see ``start``.

        Args:
            engine: the consumer of ottla.
            held: where polled records go.
            is_active: whether anything is subscribed or assigned.
            options: when a member leaves its group.
            retry_backoff: seconds before a failed poll is repeated.
        """
        self._engine = engine
        self._held = held
        self._is_active = is_active
        self._retry_backoff = retry_backoff
        self._idle_limit = options.idle_limit
        # The member must not leave its group meanwhile.
        self._pause = min(_BRIEF_SECONDS, options.rejoin_ms / 2000)
        self._loop = asyncio.get_running_loop()
        self._readers = WaitingReaders()
        self._sleeping: asyncio.Future[None] | None = None
        # By partition; None for those of the group.
        self.errors: dict[tuple[str, int] | None, Exception] = {}
        self._changes: deque[Callable[[], object]] = deque()
        self._is_polling = False
        # The partitions of the poll in progress, None for all.
        self._polled: set[tuple[str, int]] | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping: asyncio.Future[None] = self._loop.create_future()
        self.last_read = time.monotonic()
        self.is_stopped = False
        self.is_current = True

    def start(self) -> None:
        """Start the task."""
        self._task = self._loop.create_task(self._run())

    async def stop(self) -> None:
        """End the task; the core is closed by then."""
        self.stop_readers()
        if self._task is not None:
            self.resume()
            await asyncio.wait([self._task])

    def stop_readers(self) -> None:
        """End the waits of readers."""
        self.is_stopped = True
        complete(self._stopping)
        self.wake_readers()

    def cancel(self) -> None:
        """End the task at once."""
        if self._task is not None and not self._loop.is_closed():
            self._task.cancel()

    def check_error(self, partitions: Sequence[tuple[str, int]] = ()) -> None:
        """Raise the error of a failed poll, once.

        Args:
            partitions: only of these partitions, and of the group. Default: of all.
        """
        if not self.errors:
            return
        for key in list(self.errors):
            if key is None or not partitions or key in partitions:
                raise self.errors.pop(key)

    def fail(self, error: Exception, partition: tuple[str, int] | None = None) -> None:
        """Let the next reader raise an error.

        Args:
            error: the error.
            partition: the partition that it is about. Default: all, or the group.
        """
        self.errors[partition] = error
        self.wake_readers()

    def forget_errors(self, partition: tuple[str, int] | None = None) -> None:
        """Forget the error of a partition whose position changes. Default: those of all."""
        if partition is None:
            self.errors.clear()
        else:
            self.errors.pop(partition, None)

    def change(self, action: Callable[[], object]) -> None:
        """Change the core's subscription or a position: now, or after the changes that are due.

        Args:
            action: a call that does not wait.
        """
        if self._changes:
            self._changes.append(action)
        else:
            action()
            self.resume()

    def leave(self) -> None:
        """Give up all partitions, before any later change."""
        self._changes.append(self._engine.unsubscribe)
        if self._is_polling:
            self._engine.wakeup()
        self.resume()

    async def settle(self) -> None:
        """Wait until no change is due."""
        while self._changes and not self.is_stopped:
            await self.wait(timeout=self._retry_backoff)

    def wake_readers(self) -> None:
        """Let all readers look again."""
        self._readers.wake()

    def resume(self) -> None:
        """End the pause of the task, because there is something to poll for."""
        complete(self._sleeping)

    async def wait(
        self,
        partitions: Collection[tuple[str, int]] | None = None,
        timeout: float | None = None,
    ) -> None:
        """Wait until a reader should look again. A cancelled wait loses nothing.

        Args:
            partitions: the partitions whose records it waits for; empty for all. Default: None, it
                waits for no records.
            timeout: seconds; 0 for records that have arrived. Default: no limit.
        """
        is_brief = timeout is not None and timeout <= 0
        reader = Reader(self._loop.create_future(), partitions, is_brief)
        if self._is_polling:
            if not reader.is_served_by(self._polled):
                self._engine.wakeup()
            elif is_brief:
                # Nothing has arrived: the poll would have ended.
                await asyncio.sleep(0)
                return
        self._readers.add(reader)
        self.resume()
        try:
            await self._wait_for(reader.done, _BRIEF_SECONDS if is_brief else timeout)
        finally:
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
                await self._back_off()

    async def _poll(self) -> None:
        engine = self._engine
        while self._changes:
            try:
                result = self._changes[0]()
                if inspect.isawaitable(result):
                    await result
            finally:
                self._changes.popleft()
        left = self._seconds_left()
        if left <= 0 or not self._is_active():
            self.is_current = not self._is_active()
            await self._sleep(None)
            return
        polled = self._polled = self._readers.partitions()
        is_brief = self._readers.have_brief()
        self._is_polling = True
        try:
            records = await engine.poll(
                timeout=0 if is_brief else left,
                max_records=_POLLED_RECORDS,
                partitions=None if polled is None else list(polled),
            )
        except ottla_errors.WakeupError:
            return  # A change is due, or a reader waits for other partitions.
        finally:
            self._is_polling = False
        self.is_current = True
        if records:
            self._held.add(consumer_records(records))
        if records or is_brief:
            self.wake_readers()
            await self._sleep(self._pause)

    async def _process_error(self, error: ottla_errors.KafkaError) -> None:
        if not self._is_active():
            return
        if _is_late(error):
            log.info("the consumer has rejoined its group: %s", error)
            return
        where = error.context
        has_partition = "topic" in where and "partition" in where
        key = (where["topic"], where["partition"]) if has_partition else None
        self.fail(read_error(error), key)
        await self._back_off()

    def _seconds_left(self) -> float:
        """The seconds for which the task may poll without a reader."""
        if self._readers:
            return _LONG_POLL_SECONDS
        return min(self.last_read + self._idle_limit - time.monotonic(), _LONG_POLL_SECONDS)

    async def _sleep(self, seconds: float | None) -> None:
        """Pause until ``resume``, or for some seconds."""
        if self.is_stopped or self._changes:
            return
        self._sleeping = self._loop.create_future()
        await self._wait_for(self._sleeping, seconds)
        self._sleeping = None

    async def _wait_for(self, future: asyncio.Future[None], seconds: float | None) -> None:
        """Wait for a future, and complete it after some seconds. Default: no limit."""
        timer = None if seconds is None else self._loop.call_later(seconds, complete, future)
        try:
            await future
        finally:
            if timer is not None:
                timer.cancel()

    async def _back_off(self) -> None:
        """Pause before a failed poll is repeated, whether or not readers wait."""
        await asyncio.wait([self._stopping], timeout=self._retry_backoff)


def _is_late(error: ottla_errors.KafkaError) -> bool:
    """Whether an error only reports that the member was not polled in time."""
    return error.code is None and "max.poll.interval.ms" in str(error)
