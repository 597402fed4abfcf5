"""``AsyncConsumer``: the order in which an asyncio program polls, rebalances and closes.

The engine, in Rust, finds records and says that it has; they are handed out by calls that do not
wait, made once the program runs again: a wait that is cancelled loses none. A rebalance is a task
of its own: cancelling the poll that began it does not cut a callback in two, and the next poll
waits for it.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from ottla import errors
from ottla._core import AsyncConsumerBase, RebalanceChange, Record, RecordBatch

if TYPE_CHECKING:
    from typing_extensions import Self, TypeVar

    K = TypeVar("K", covariant=True, default=bytes)
    V = TypeVar("V", covariant=True, default=bytes)
else:  # the default came with Python 3.13
    from typing import TypeVar

    K = TypeVar("K", covariant=True)
    V = TypeVar("V", covariant=True)

__all__ = ["AsyncConsumer"]

T = TypeVar("T")

_FOREVER = float("inf")


class AsyncConsumer(AsyncConsumerBase[K, V]):
    """A consumer for asyncio; it mirrors ``Consumer``. Calls that would block are awaitable.

    ``async with`` connects it and closes it; ``async for`` returns record after record, without
    end. Cancelling a wait loses no record. One task polls or iterates at a time; any task may call
    the other methods. The callbacks of ``subscribe`` may be functions or coroutine functions; they
    run on the loop, inside a poll.

    An ``async with`` block that ends with an exception, a cancellation included, commits nothing
    automatically: the records that were being processed are read again.

    Args:
        bootstrap: addresses as ``host:port``, or a ``Client`` or ``AsyncClient`` whose metadata it
            shares; it makes its own connections.
        config: configuration by Kafka's dotted names; keyword arguments are the same names with
            underscores, and win. See ``Client``. ``partition_assignment_strategy`` also takes
            objects: see ``ottla.assignors``.
        topics: topics to subscribe to at once, as ``subscribe(topics)`` does.
        key_deserializer: turns the bytes of keys into objects: see ``ottla.deserializers``. Arrow
            columns keep the bytes.
        value_deserializer: the same for values.
        timeout: seconds in which ``connect()`` must find the cluster. Default:
            ``default.api.timeout.ms``, 60 s.

    Raises:
        ConfigError: a key or a value is wrong, or a client was given together with configuration.
    """

    _connected = False
    # The rebalance under way, or one whose error nobody has been told yet.
    _rebalance: asyncio.Task[None] | None = None
    _closing: asyncio.Task[None] | None = None

    async def poll(
        self, timeout: float = 1.0, max_records: int | None = None
    ) -> list[Record[K | None, V | None]]:
        """Return records as soon as there are any; an empty list if there are none in time.

        The position moves past the records at once.

        Args:
            timeout: seconds to wait.
            max_records: the maximum number of records. Default: ``max.poll.records``, 500.

        Raises:
            OffsetError: a partition has no position, and ``auto.offset.reset`` is ``none``.
            SerializationError: the next record cannot be deserialized. The position stays before
                it; ``seek`` past it to continue.
            StateError: nothing is subscribed to or assigned, or another task polls.
            WakeupError: ``wakeup()`` was called.
            ClosedError: the consumer was closed, before or while it polled.
        """
        records = await self._poll(
            timeout,
            lambda left: self._wait_for_records(left, max_records),
            lambda: self._pop_records(max_records) or None,
        )
        return records or []

    async def poll_arrow(
        self,
        timeout: float = 1.0,
        max_rows: int = 50_000,
        columns: Sequence[str] | None = None,
        include_headers: bool = False,
    ) -> RecordBatch | None:
        """Return records as Arrow columns, or None if there are none in time.

        The position moves past the records at once.

        Args:
            timeout: seconds to wait.
            max_rows: the maximum number of rows. About 4 MB of keys, values and headers end a
                batch, too.
            columns: the columns, in that order: any of ``key``, ``value``, ``topic``,
                ``partition``, ``offset``, ``timestamp``, ``timestampType`` and ``headers``.
                Default: all but ``headers``.
            include_headers: whether to add ``headers`` to the default columns.

        Raises:
            ConfigError: a column does not exist, or is named twice.
            KafkaError: as from ``poll``, except ``SerializationError``: columns have the bytes.
        """
        names = None if columns is None else list(columns)
        return await self._poll(
            timeout,
            lambda left: self._wait_for_batch(left, max_rows, names, include_headers),
            self._pop_batch,
        )

    async def unsubscribe(self) -> None:
        """Give up all partitions, and leave the group. ``on_revoked`` is called before."""
        self._unsubscribe()
        if self._rebalance is not None and asyncio.current_task() is self._rebalance:
            return
        try:
            self._lock_poll()
        except errors.StateError:
            return  # Whoever polls works it off.
        try:
            await self._handle_pending_rebalances()
        finally:
            self._unlock_poll()

    async def close(self, timeout: float = 30.0) -> None:
        """Leave the group, and close the consumer.

        With ``enable.auto.commit`` it commits the positions before. ``on_revoked`` is called before
        the partitions are given up. A poll under way ends with ``ClosedError``. Closing a
        consumer again has no effect.

        Args:
            timeout: seconds for all of it.

        Raises:
            TimeoutError: the group's coordinator did not respond in time; the consumer is closed.
            StateError: a callback of this consumer calls it.
        """
        if self._rebalance is not None and asyncio.current_task() is self._rebalance:
            raise errors.StateError("close() in a callback of the consumer: return first")
        if self._closing is None:
            if not self._start_closing():
                return
            self._closing = asyncio.ensure_future(self._close(time.monotonic() + timeout))
        await asyncio.shield(self._closing)

    async def __aenter__(self) -> Self:
        await self.connect()
        self._connected = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            await self.close()
            return
        self._stop_auto_commit()
        try:
            await self.close()
        except Exception as failure:  # noqa: BLE001 - nothing takes the place of the block's own
            self._closing_failed(str(failure))

    async def _next(self) -> Record[K | None, V | None]:
        while True:
            record = await self._poll(
                _FOREVER, lambda left: self._wait_for_records(left, None), self._pop_record
            )
            if record is not None:
                return record

    async def _poll(
        self,
        timeout: float,
        find: Callable[[float], Awaitable[bool | RebalanceChange]],
        take: Callable[[], T | None],
    ) -> T | None:
        if self._rebalance is not None and asyncio.current_task() is self._rebalance:
            raise errors.StateError("a callback of a consumer cannot poll it: return first")
        self._lock_poll()
        try:
            if not self._connected:
                await self.connect()
                self._connected = True
            ends = time.monotonic() + timeout
            while True:
                await self._wait_for_rebalance()
                await self._invoke_commit_callbacks()
                found = await find(timeout if timeout <= 0 else max(0.0, ends - time.monotonic()))
                if isinstance(found, RebalanceChange):
                    self._start_rebalance(found)
                    continue
                if found and (taken := take()) is not None:
                    return taken
                if not found:
                    return None
        finally:
            self._unlock_poll()

    def _start_rebalance(self, change: RebalanceChange) -> None:
        self._rebalance = asyncio.ensure_future(self._handle_rebalance(change))

    async def _wait_for_rebalance(self) -> None:
        """Wait for a rebalance that is under way, and raise what its callback has raised."""
        change = self._rebalance
        if change is not None:
            try:
                await asyncio.shield(change)
            finally:
                if change.done():
                    self._rebalance = None

    async def _handle_rebalance(self, change: RebalanceChange) -> None:
        await self._begin_rebalance(change)
        try:
            callback = self._rebalance_callback(change)
            if callback is not None:
                called = callback(self, change.partitions)
                if inspect.isawaitable(called):
                    await called
            await self._wait_for_commits(change)
        finally:
            self._finish_rebalance(change)

    async def _invoke_commit_callbacks(self) -> None:
        """Call back for commits that have ended; the first that raises ends this, others wait."""
        while (ended := self._next_commit_callback()) is not None:
            callback, error, offsets = ended
            called = callback(error, offsets)
            if inspect.isawaitable(called):
                await called

    async def _handle_pending_rebalances(self) -> None:
        """Work off what a membership that ends has left; the first error is raised at the end."""
        first: BaseException | None = None
        while True:
            try:
                await self._wait_for_rebalance()
            except Exception as error:  # noqa: BLE001 - raised at the end
                first = first or error
            change = self._next_pending_rebalance()
            if change is None:
                break
            self._start_rebalance(change)
        if first is not None:
            raise first

    async def _close(self, ends: float) -> None:
        def left() -> float:
            return max(0.0, ends - time.monotonic())

        first: BaseException | None = None
        has_turn = await self._acquire_poll_lock(left())
        try:
            await self._begin_close(left())
            try:
                # A callback that does not return holds up nothing else.
                await asyncio.wait_for(self._handle_pending_rebalances(), left())
            except asyncio.TimeoutError:
                first = errors.TimeoutError("a callback of the last rebalance did not end in time")
            except Exception as error:  # noqa: BLE001 - raised at the end
                first = error
            await self._end_close(left())
            try:
                await asyncio.wait_for(self._invoke_commit_callbacks(), left())
            except asyncio.TimeoutError:
                first = first or errors.TimeoutError("a callback of a commit did not end in time")
            except Exception as error:  # noqa: BLE001 - raised at the end
                first = first or error
        finally:
            if has_turn:
                self._unlock_poll()
        if first is not None:
            raise first
