"""``AsyncConsumer``: the order in which the asyncio consumer polls, rebalances and closes.

Its base class, in Rust, waits until records are buffered; a call that does not wait pops them once
the polling task runs again. So a cancelled wait loses no records. A rebalance is a task of its own:
cancelling the poll that started it does not interrupt a callback, and the next poll waits for it.
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
else:  # TypeVar has defaults since Python 3.13
    from typing import TypeVar

    K = TypeVar("K", covariant=True)
    V = TypeVar("V", covariant=True)

__all__ = ["AsyncConsumer"]

T = TypeVar("T")

_FOREVER = float("inf")


class AsyncConsumer(AsyncConsumerBase[K, V]):
    """A consumer for asyncio; it mirrors ``Consumer``: calls that would block are awaitable.

    ``async with`` connects and closes it; ``async for`` returns records without end. Cancelling a
    wait loses no record. One task polls or iterates at a time; any task may call the other methods.
    The callbacks of ``subscribe`` may be functions or coroutine functions; they run on the loop,
    inside a poll.

    An ``async with`` block that ends with an exception or a cancellation commits nothing
    automatically: the records in processing are read again.

    Args:
        bootstrap: addresses as ``host:port``, or a ``Client`` or ``AsyncClient`` whose metadata to
            share; the consumer opens its own connections.
        config: configuration by Kafka's dotted names. Keyword arguments are the same names with
            underscores and take precedence. See ``Client``. ``partition_assignment_strategy`` also
            takes objects: see ``ottla.assignors``.
        topics: topics to subscribe to, as with ``subscribe(topics)``. Default: none.
        key_deserializer: converts the bytes of keys; see ``ottla.deserializers``. Arrow columns
            keep the bytes. Default: keys stay bytes.
        value_deserializer: the same for values.
        timeout: seconds for ``connect()`` to find the cluster. Default:
            ``default.api.timeout.ms``, 60 s.

    Raises:
        ConfigError: a key or a value is invalid, or a client is combined with configuration.
    """

    _connected = False
    # The rebalance in progress, or one whose error was not raised yet.
    _rebalance: asyncio.Task[None] | None = None
    _closing: asyncio.Task[None] | None = None

    async def poll(
        self, timeout: float = 1.0, max_records: int | None = None
    ) -> list[Record[K | None, V | None]]:
        """Return records as soon as there are any, or an empty list after the timeout.

        The positions move past the returned records.

        Args:
            timeout: seconds to wait. Default: 1.
            max_records: the maximum number of records. Default: ``max.poll.records``, 500.

        Raises:
            OffsetError: a partition has no valid position, and ``auto.offset.reset`` is ``none``.
            SerializationError: the next record cannot be deserialized. The position stays before
                it; ``seek`` past it to continue.
            StateError: there is no subscription or assignment, or another task polls.
            WakeupError: ``wakeup()`` was called.
            ClosedError: the consumer was closed before or during the poll.
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
        """Return records as Arrow columns, or None after the timeout.

        The positions move past the returned records.

        Args:
            timeout: seconds to wait. Default: 1.
            max_rows: the maximum number of rows. A batch also ends after about 4 MB of keys, values
                and headers.
            columns: the columns, in this order: any of ``key``, ``value``, ``topic``,
                ``partition``, ``offset``, ``timestamp``, ``timestampType`` and ``headers``.
                Default: all but ``headers``.
            include_headers: whether to add ``headers`` to the default columns.

        Raises:
            ConfigError: a column does not exist or is listed twice.
            KafkaError: as for ``poll``, except ``SerializationError``: columns keep the bytes.
        """
        names = None if columns is None else list(columns)
        return await self._poll(
            timeout,
            lambda left: self._wait_for_batch(left, max_rows, names, include_headers),
            self._pop_batch,
        )

    async def unsubscribe(self) -> None:
        """Give up all partitions, and leave the group; calls ``on_revoked`` first."""
        self._unsubscribe()
        if self._is_in_callback():
            return
        try:
            self._lock_poll()
        except errors.StateError:
            return  # The poll in progress handles the change.
        try:
            await self._handle_pending_rebalances()
        finally:
            self._unlock_poll()

    async def close(self, timeout: float = 30.0) -> None:
        """Leave the group, and close the consumer.

        It first commits the positions (with ``enable.auto.commit``) and calls ``on_revoked``. A
        poll in progress ends with ``ClosedError``. Closing a closed consumer has no effect.

        Args:
            timeout: seconds for all of this. Default: 30.

        Raises:
            TimeoutError: the group's coordinator did not respond in time; the consumer is closed.
            StateError: a callback of this consumer called it.
        """
        if self._is_in_callback():
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
        except Exception as failure:  # noqa: BLE001 - the block's exception is raised
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
        wait: Callable[[float], Awaitable[bool | RebalanceChange]],
        pop: Callable[[], T | None],
    ) -> T | None:
        if self._is_in_callback():
            raise errors.StateError("a callback of a consumer cannot poll it: return first")
        self._lock_poll()
        try:
            if not self._connected:
                await self.connect()
                self._connected = True
            deadline = time.monotonic() + timeout
            while True:
                await self._wait_for_rebalance()
                await self._invoke_commit_callbacks()
                left = timeout if timeout <= 0 else max(0.0, deadline - time.monotonic())
                outcome = await wait(left)
                if isinstance(outcome, RebalanceChange):
                    self._start_rebalance(outcome)
                    continue
                if outcome and (popped := pop()) is not None:
                    return popped
                if not outcome:
                    return None
        finally:
            self._unlock_poll()

    def _is_in_callback(self) -> bool:
        return self._rebalance is not None and asyncio.current_task() is self._rebalance

    def _start_rebalance(self, change: RebalanceChange) -> None:
        self._rebalance = asyncio.ensure_future(self._handle_rebalance(change))

    async def _wait_for_rebalance(self) -> None:
        """Wait for the rebalance in progress, and raise its callback's exception."""
        rebalance = self._rebalance
        if rebalance is not None:
            try:
                await asyncio.shield(rebalance)
            finally:
                if rebalance.done():
                    self._rebalance = None

    async def _handle_rebalance(self, change: RebalanceChange) -> None:
        await change.begin()
        try:
            callback = change.callback()
            if callback is not None:
                result = callback(self, change.partitions)
                if inspect.isawaitable(result):
                    await result
            await change.wait_for_commits()
        finally:
            change.finish()

    async def _invoke_commit_callbacks(self) -> None:
        """Call the callbacks of completed commits; after an exception, the rest stay queued."""
        while (call := self._next_commit_callback()) is not None:
            callback, error, offsets = call
            result = callback(error, offsets)
            if inspect.isawaitable(result):
                await result

    async def _handle_pending_rebalances(self) -> None:
        """Handle the last changes of a membership that ends; raise the first error at the end."""
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

    async def _close(self, deadline: float) -> None:
        def left() -> float:
            return max(0.0, deadline - time.monotonic())

        first: BaseException | None = None
        has_poll_lock = await self._acquire_poll_lock(left())
        try:
            await self._begin_close(left())
            try:
                # Closing continues even if a callback never returns.
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
            if has_poll_lock:
                self._unlock_poll()
        if first is not None:
            raise first
