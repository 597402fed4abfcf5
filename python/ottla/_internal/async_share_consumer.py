"""``AsyncShareConsumer``: runs the calls of a share consumer on the event loop.

The engine waits until records are buffered; a step that does not wait delivers them once the
polling task runs again. So a cancelled wait delivers no records.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from ottla import errors
from ottla._core import AsyncShareConsumerBase, Record, RecordBatch
from ottla._internal import arguments
from ottla._internal.first_connect import FirstConnect
from ottla._internal.required_arguments import flag

if TYPE_CHECKING:
    from typing_extensions import Self, TypeVar

    K = TypeVar("K", covariant=True, default=bytes)
    V = TypeVar("V", covariant=True, default=bytes)
else:  # TypeVar has defaults since Python 3.13
    from typing import TypeVar

    K = TypeVar("K", covariant=True)
    V = TypeVar("V", covariant=True)

__all__ = ["AsyncShareConsumer"]

T = TypeVar("T")

_FOREVER = float("inf")


class AsyncShareConsumer(AsyncShareConsumerBase[K, V]):
    """A share consumer for asyncio; it mirrors ``ShareConsumer``: calls that wait are awaitable.

    ``async with`` connects and closes it; ``async for`` returns records without end. Cancelling a
    wait loses no record. One task polls at a time; any task may call ``wakeup``. The callback for
    acknowledgements may be a function or a coroutine function.

    ``close()`` and the end of an ``async with`` block release the records that were not
    acknowledged, those of the last poll included: call ``commit()`` first if they are processed.

    Args:
        bootstrap: addresses as ``host:port``, or a ``Client`` or ``AsyncClient`` whose metadata to
            share; the consumer opens its own connections.
        config: configuration by Kafka's dotted names; ``group.id`` is required. Keyword arguments
            are the same names with underscores and take precedence. See ``Client``.
        topics: topics to subscribe to, as with ``subscribe(topics)``. Default: none.
        key_deserializer: converts the bytes of keys; see ``ottla.deserializers``; or a format
            of ``ottla.schema``. Arrow columns keep the bytes. Default: keys stay bytes.
        value_deserializer: the same for values.
        timeout: seconds for ``connect()`` to find the cluster. Default:
            ``default.api.timeout.ms``, 60 s. The first poll connects, too, within its own timeout:
            what is not found then, later polls go on to look for.

    Raises:
        ConfigError: a key or a value is invalid, ``group.id`` is missing, or a client is combined
            with configuration.
    """

    _first_connect: FirstConnect | None = None
    _in_callback: asyncio.Task[object] | None = None

    async def poll(
        self, *, timeout: float = 1.0, max_records: int | None = None
    ) -> list[Record[K | None, V | None]]:
        """Acquire and return records as soon as there are any, or an empty list after the timeout.

        First the records of the last poll are acknowledged. Records whose lock was renewed are
        returned again.

        Args:
            timeout: seconds to wait. Default: 1.
            max_records: the maximum number of records. Default: ``max.poll.records``, 500.
                A list also ends after about 16 MB of records.

        Raises:
            SerializationError: a record cannot be deserialized. It is released, unless
                ``acknowledge_offsets`` says otherwise before the next poll.
            StateError: there is no subscription, another thread or task polls, or records of the
                last poll are not acknowledged with ``share.acknowledgement.mode=explicit``.
            UnsupportedVersionError: the brokers have no share groups.
            WakeupError: ``wakeup()`` was called.
            ClosedError: the consumer was closed before or during the poll.
        """
        if max_records is not None:
            max_records = arguments.integer("max_records", max_records)
        return await self._poll(timeout, lambda: self._pop_records(max_records) or None) or []

    async def poll_arrow(
        self,
        *,
        timeout: float = 1.0,
        max_rows: int = 50_000,
        columns: Sequence[str] | None = None,
        include_headers: bool = False,
    ) -> RecordBatch | None:
        """Acquire and return records as Arrow columns, or None after the timeout.

        First the records of the last poll are acknowledged.

        Args:
            timeout: seconds to wait. Default: 1.
            max_rows: the maximum number of rows.
            columns: the columns, in this order: any of ``key``, ``value``, ``topic``,
                ``partition``, ``offset``, ``timestamp``, ``timestampType`` and ``headers``.
                Default: all but ``headers``. The column ``deliveryCount`` (int16) is always added
                as the last one: 1 for a record that is delivered for the first time.
            include_headers: whether to add ``headers`` to the default columns.

        Raises:
            ConfigError: a column does not exist or is listed twice.
            KafkaError: as for ``poll``, except ``SerializationError``: columns keep the bytes.
        """
        names = None if columns is None else arguments.names("columns", columns)
        include_headers = flag("include_headers", include_headers)
        max_rows = arguments.integer("max_rows", max_rows)
        return await self._poll(
            timeout, lambda: self._pop_batch(max_rows, names, include_headers), is_batch=True
        )

    async def commit(
        self, *, timeout: float | None = None
    ) -> dict[tuple[str, int], errors.KafkaError | None]:
        """Send the acknowledgements of delivered records, and wait for the results.

        With ``share.acknowledgement.mode=implicit`` it accepts the records of the last poll; with
        ``explicit`` it sends what was acknowledged.

        Args:
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The result by ``(topic, partition)``: None, or the ``KafkaError`` for which records of
            the partition were not acknowledged, or may not have been; those are delivered again.
        """
        results = await self._commit(timeout)
        await self._invoke_callback()
        return results

    async def close(self, *, timeout: float = 30.0) -> None:
        """Send pending acknowledgements, release all other records, and leave the group.

        With ``share.acknowledgement.mode=implicit``, the records of the last poll are released and
        delivered again, to any member: only the next poll or ``commit()`` accepts them.

        A poll in progress ends with ``ClosedError``. Closing a closed consumer has no effect. In
        blocking code a signal handler may call it, also while this thread polls: the poll ends
        after the handler with its exception, or else with ``ClosedError``.

        Args:
            timeout: seconds for all of this. Default: 30.

        Raises:
            TimeoutError: a broker did not respond in time; the consumer is closed.
            StateError: a callback of this consumer called it.
        """
        await self._close_and_report(timeout)

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
        try:
            await self._close_and_report(30.0)
        except Exception as failure:  # noqa: BLE001 - the block's exception is raised
            self._closing_failed(str(failure))

    async def __aiter__(self) -> AsyncGenerator[Record[K | None, V | None]]:
        # A generator hands a record over at a fraction of what an awaitable for each one takes.
        while True:
            yield await self.__anext__() if (record := self._next_buffered()) is None else record

    async def __anext__(self) -> Record[K | None, V | None]:
        if (buffered := self._next_buffered()) is not None:
            return buffered
        while True:
            record = await self._poll(_FOREVER, lambda: self._pop_records(1) or None)
            if record is not None:
                return record[0]

    def _next_buffered(self) -> Record[K | None, V | None] | None:
        self._refuse_in_callback("poll")
        return self._take_buffered_record()

    async def _poll(
        self, timeout: float, pop: Callable[[], T | None], *, is_batch: bool = False
    ) -> T | None:
        self._refuse_in_callback("poll")
        self._lock_poll()
        try:
            loop = asyncio.get_running_loop()
            deadline = loop.time() + timeout
            left = timeout
            if not self._connecting().is_found:
                await self._connecting().within(timeout, self.connect)
                left = max(deadline - loop.time(), 0.0)
            await self._invoke_callback()
            is_ready = await self._wait(left, True, is_batch)
            while is_ready:
                await self._invoke_callback()
                popped = pop()
                if popped is not None:
                    return popped
                is_ready = await self._wait(max(deadline - loop.time(), 0.0), False, is_batch)
            return None
        finally:
            self._unlock_poll()

    def _connecting(self) -> FirstConnect:
        if self._first_connect is None:
            self._first_connect = FirstConnect()
        return self._first_connect

    async def _close_and_report(self, timeout: float) -> None:
        self._refuse_in_callback("close")
        try:
            await self._close(timeout)
        finally:
            await self._invoke_callback()

    def _refuse_in_callback(self, call: str) -> None:
        if self._in_callback is not None and self._in_callback is asyncio.current_task():
            raise errors.StateError(f"{call}() in a callback of the consumer: return first")

    async def _invoke_callback(self) -> None:
        """Call the callback for each result; after an exception, the rest stay queued."""
        self._in_callback = asyncio.current_task()
        try:
            while (call := self._next_callback()) is not None:
                callback, error, offsets = call
                result = callback(error, offsets)
                if inspect.isawaitable(result):
                    await result
        finally:
            self._in_callback = None
