"""``AsyncConsumer``: runs the steps of its calls on the event loop, and calls the callbacks.

The order of the steps is the engine's, as for the blocking ``Consumer``. The engine waits until
records are buffered; a step that does not wait pops them once the polling task runs again. So a
cancelled wait loses no records. A rebalance is a task of its own: cancelling the poll that started
it does not interrupt a callback, and the next poll waits for it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from ottla import errors
from ottla._core import AsyncConsumerBase, ConsumerCall, RebalanceChange, Record, RecordBatch
from ottla._internal import arguments
from ottla._internal.first_connect import FirstConnect
from ottla._internal.renamed import refuse_old_formats
from ottla._internal.required_arguments import flag

if TYPE_CHECKING:
    from typing_extensions import Self, TypeVar

    from ottla.schema import ColumnFormat

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
        interceptors: as for ``Consumer``; called on the loop's thread.
        timeout: seconds for ``connect()`` to find the cluster. Default:
            ``default.api.timeout.ms``, 60 s. The first poll connects, too, within its own timeout:
            what is not found then, later polls go on to look for.

    Raises:
        ConfigError: a key or a value is invalid, or a client is combined with configuration.
    """

    _first_connect: FirstConnect | None = None
    # The rebalance in progress, or one whose error was not raised yet.
    _rebalance: asyncio.Task[bool] | None = None
    _closing: asyncio.Task[None] | None = None

    async def poll(
        self,
        *,
        timeout: float = 1.0,
        max_records: int | None = None,
        partitions: Sequence[tuple[str, int]] | None = None,
    ) -> list[Record[K | None, V | None]]:
        """Return records as soon as there are any, or an empty list after the timeout.

        The positions move past the returned records.

        Args:
            timeout: seconds to wait. Default: 1.
            max_records: the maximum number of records. Default: ``max.poll.records``, 500.
                A list also ends after about 16 MB of records.
            partitions: return records of these partitions only, as pairs of a topic and a number.
                Records of others stay for later polls. Default: all.

        Raises:
            OffsetError: a partition has no valid position, and ``auto.offset.reset`` is ``none``.
            SerializationError: the next record cannot be deserialized. The position stays before
                it; ``seek`` past it to continue.
            StateError: there is no subscription or assignment, or another thread or task polls.
            WakeupError: ``wakeup()`` was called.
            ClosedError: the consumer was closed before or during the poll.
        """
        records = await self._poll(
            timeout,
            lambda: self._poll_records(timeout, max_records, partitions),
            lambda: self._pop_records(max_records),
        )
        return records or []

    @refuse_old_formats
    async def poll_arrow(
        self,
        *,
        timeout: float = 1.0,
        max_rows: int = 50_000,
        columns: Sequence[str] | None = None,
        include_headers: bool = False,
        key_format: ColumnFormat | None = None,
        value_format: ColumnFormat | None = None,
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
            key_format: how keys with a schema are decoded, such as ``ottla.schema.Avro(registry)``.
                Pass the same object each time. Default: keys stay bytes.
            value_format: the same for values.

        Raises:
            ConfigError: a column does not exist or is listed twice, or an interceptor has no
                ``on_consume_arrow``.
            SchemaError: there is no schema to read with, or it cannot be used.
            SerializationError: the next key or value cannot be decoded. The position stays before
                it; ``seek`` past it to continue.
            KafkaError: as for ``poll``, and the errors of the schema registry. No record is lost.
        """
        names = None if columns is None else arguments.names("columns", columns)
        include_headers = flag("include_headers", include_headers)
        return await self._poll(
            timeout,
            lambda: self._poll_batch(
                timeout, max_rows, names, include_headers, key_format, value_format
            ),
            self._pop_batch,
        )

    async def unsubscribe(self) -> None:
        """Give up all partitions, and leave the group; calls ``on_revoked`` first."""
        call = self._unsubscribe()
        if self._is_in_callback():
            return
        try:
            self._lock_poll()
        except errors.StateError:
            return  # The poll in progress handles the change.
        try:
            await self._run(call)
        finally:
            self._unlock_poll()

    async def close(self, *, timeout: float = 30.0) -> None:
        """Leave the group, and close the consumer.

        It first commits the positions (with ``enable.auto.commit``) and calls ``on_revoked``. A
        poll in progress ends with ``ClosedError``. Closing a closed consumer has no effect. In
        blocking code a signal handler may call it, also while this thread polls: the poll ends
        after the handler with its exception, or else with ``ClosedError``.

        Args:
            timeout: seconds for all of this. Default: 30.

        Raises:
            TimeoutError: the group's coordinator did not respond in time; the consumer is closed.
            StateError: a callback of this consumer called it.
        """
        if self._is_in_callback():
            raise errors.StateError("close() in a callback of the consumer: return first")
        if self._closing is None:
            call = self._start_closing(timeout)
            if call is None:
                return
            self._closing = asyncio.ensure_future(self._close(call))
        await asyncio.shield(self._closing)

    async def __aenter__(self) -> Self:
        await self._connecting().now(self.connect)
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

    async def __aiter__(self) -> AsyncGenerator[Record[K | None, V | None]]:
        # A generator hands a record over at a fraction of what an awaitable for each one takes.
        while True:
            for record in self._buffered_records():
                yield record
            yield await self._next()

    async def __anext__(self) -> Record[K | None, V | None]:
        for record in self._buffered_records():
            return record
        return await self._next()

    async def _next(self) -> Record[K | None, V | None]:
        while True:
            record = await self._poll(
                _FOREVER, lambda: self._poll_records(_FOREVER, None, None), self._pop_record
            )
            if record is not None:
                return record

    async def _poll(
        self,
        timeout: float,
        begin: Callable[[], ConsumerCall],
        take: Callable[[], T | None],
    ) -> T | None:
        if self._is_in_callback():
            raise errors.StateError("a callback of a consumer cannot poll it: return first")
        self._lock_poll()
        try:
            call = begin()
            await self._connecting().within(timeout, self.connect)
            await self._wait_for_rebalance()
            return await self._run(call, take)
        finally:
            self._unlock_poll()

    def _connecting(self) -> FirstConnect:
        if self._first_connect is None:
            self._first_connect = FirstConnect()
        return self._first_connect

    async def _close(self, call: ConsumerCall) -> None:
        try:
            await self._run(call)
        finally:
            self._release()

    async def _run(
        self, call: ConsumerCall, take: Callable[[], T | None] = lambda: None
    ) -> T | None:
        """Run the steps of a call; return what was taken."""
        taken: T | None = None
        while (step := call.next_step()) is not None:
            if step == "take":
                taken = take()
                call.completed(taken is not None)
            elif step == "next_rebalance" and self._rebalance is None:
                call.take_rebalance()
            elif isinstance(step, (str, RebalanceChange)):
                await self._run_callbacks(call, step)
            else:
                await step
        return taken

    async def _run_callbacks(self, call: ConsumerCall, step: str | RebalanceChange) -> None:
        """Run a step that calls the application, within the time of the call."""
        if step == "commit_callbacks":
            work = self._invoke_commit_callbacks()
        else:
            if isinstance(step, RebalanceChange):
                self._rebalance = asyncio.ensure_future(self._handle_rebalance(step))
            work = self._wait_for_rebalance()
        left = call.time_left()
        try:
            call.completed(await (work if left is None else asyncio.wait_for(work, left)))
        except Exception as error:
            if left is None:
                raise
            if isinstance(error, asyncio.TimeoutError) and call.time_left() == 0:
                call.completed(True)  # The call reports that a callback has not ended.
            else:
                call.failed(error)

    def _is_in_callback(self) -> bool:
        return self._rebalance is not None and asyncio.current_task() is self._rebalance

    async def _wait_for_rebalance(self) -> bool:
        """Wait for the rebalance in progress, and raise its callback's exception.

        Returns:
            Whether there was one with a callback.
        """
        rebalance = self._rebalance
        if rebalance is None:
            return False
        try:
            return await asyncio.shield(rebalance)
        finally:
            if rebalance.done():
                self._rebalance = None

    async def _handle_rebalance(self, change: RebalanceChange) -> bool:
        """Handle a change, and return whether it has a callback."""
        await change.begin()
        callback, succeeded = change.callback(), False
        try:
            if callback is not None:
                result = callback(self, change.partitions)
                if inspect.isawaitable(result):
                    await result
            succeeded = True
        finally:
            await change.finish(succeeded)
        return callback is not None

    async def _invoke_commit_callbacks(self) -> bool:
        """Call the callbacks of completed commits; after an exception, the rest stay queued.

        Returns:
            Whether there were any.
        """
        is_called = False
        while (call := self._next_commit_callback()) is not None:
            callback, error, offsets = call
            result = callback(error, offsets)
            if inspect.isawaitable(result):
                await result
            is_called = True
        return is_called
