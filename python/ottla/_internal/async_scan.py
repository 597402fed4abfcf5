"""``scan_async``: a bounded read of a topic with asyncio, the twin of ``scan`` over the same core.

Invariants: nothing is requested before the scan is entered or iterated over. A scan that is closed,
that has ended, or that nothing refers to any more reads nothing, and its own client is closed. No
wait outlives the scan, and a wait that is cancelled loses no batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ottla._core import AsyncClient, AsyncScanBase, RecordBatch
from ottla._internal import scanning
from ottla._internal.arguments import integer, integers, names, number
from ottla._internal.renamed import refuse_old_formats
from ottla._internal.required_arguments import flag
from ottla.errors import ClosedError, ConfigError

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ottla._internal.scanning import Bound
    from ottla.config_types import ClientConfig
    from ottla.schema import ColumnFormat

__all__ = ["AsyncScan", "scan_async"]

_T = TypeVar("_T")


class AsyncScan:
    """A read of topics for asyncio: an asynchronous iterator of ``RecordBatch``.

    ``scan_async`` returns it. It can be read once, by one task at a time. Cancelling a wait loses
    no batch. Leaving a loop early ends the read as soon as nothing refers to the scan; use
    ``async with`` to end it at a certain place. A loop in another task ends when the scan is
    closed.
    """

    def __init__(
        self,
        start: Callable[[AsyncClient], Coroutine[Any, Any, AsyncScanBase]],
        client: AsyncClient,
        renew: Callable[[], AsyncClient] | None,
    ) -> None:
        """Begin without a read.

        Args:
            start: starts the read on a client.
            client: the client.
            renew: creates another client of the same configuration, if the scan owns its client.
        """
        self._start = start
        self._renew = renew
        self._is_closed = False
        self._client: AsyncClient | None = client
        self._scan: AsyncScanBase | None = None
        self._is_reading = False
        # The batch of a wait that was cancelled when it was there already.
        self._undelivered: asyncio.Future[RecordBatch | None] | None = None
        # Of the tasks that wait for this scan: closing it completes them.
        self._ends: set[asyncio.Future[None]] = set()

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order; known once the scan has started.

        Raises:
            ClosedError: the scan has not started, or was closed.
        """
        if self._scan is None:
            raise ClosedError("this scan has not started, or was closed")
        return self._scan.column_names

    async def close(self) -> None:
        """Stop reading, and release the buffers. Closing a scan again has no effect."""
        self._is_closed = True
        for end in self._ends:
            if not end.done():
                end.set_result(None)
        self._undelivered = None
        if self._scan is not None:
            self._scan.close()
            self._scan = None
        await self._close_client()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> RecordBatch:
        if self._is_reading:
            raise ClosedError("another task reads this scan: a scan can be read once")
        self._is_reading = True
        try:
            batch = await self._next(await self._started())
        finally:
            self._is_reading = False
        if batch is None:
            raise StopAsyncIteration
        return batch

    async def __aenter__(self) -> Self:
        try:
            await self._started()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _started(self) -> AsyncScanBase:
        """Return the running scan, which the first call starts; a failed start is repeated."""
        if self._is_closed:
            raise ClosedError("this scan was closed: a scan can be read once")
        if self._scan is None:
            client = self._client = self._client or self._renewed()
            start = asyncio.ensure_future(self._start(client))
            if not await self._wait(start):
                raise ClosedError("this scan was closed while it started")
            try:
                self._scan = start.result()
            except Exception:
                # The exception's traceback refers to the client, which would stay connected.
                await self._close_client()
                raise
        return self._scan

    def _renewed(self) -> AsyncClient:
        if self._renew is None:
            raise ClosedError("this scan was closed: a scan can be read once")
        return self._renew()

    async def _close_client(self) -> None:
        """Close the client, if it is the scan's own."""
        if self._client is not None and self._renew is not None:
            client, self._client = self._client, None
            await client.close()

    async def _next(self, scan: AsyncScanBase) -> RecordBatch | None:
        """Return the next batch, or None at the end, or once this is closed."""
        batch = scan.next() if self._undelivered is None else self._undelivered
        self._undelivered = None
        try:
            if not await self._wait(batch):
                return None
        except asyncio.CancelledError:
            if batch.done() and not batch.cancelled():
                self._undelivered = batch
            raise
        return batch.result()

    async def _wait(self, work: asyncio.Future[_T]) -> bool:
        """Wait for work, and return whether it was done before this was closed.

        Work that is not done is cancelled.
        """
        end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ends.add(end)
        try:
            await asyncio.wait((work, end), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._ends.discard(end)
            if not work.done():
                work.cancel()
            elif not work.cancelled():
                # asyncio logs exceptions that nobody has looked at.
                work.exception()
        return work.done() and not self._is_closed

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "running" if self._scan else "not started"
        return f"AsyncScan({state})"


@refuse_old_formats
def scan_async(
    topics: str | Sequence[str],
    bootstrap: str | Sequence[str] | Mapping[str, Any] | AsyncClient | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    start: Bound = "earliest",
    end: Bound = "latest",
    partitions: Iterable[int] | None = None,
    columns: Sequence[str] | None = None,
    include_headers: bool = False,
    max_rows: int = 50_000,
    target_bytes: int = 4 << 20,
    fail_on_data_loss: bool = True,
    timeout: float | None = None,
    key_format: ColumnFormat | None = None,
    value_format: ColumnFormat | None = None,
    **kwargs: Unpack[ClientConfig],
) -> AsyncScan:
    """Read topics from ``start`` up to ``end`` with asyncio, as ``scan`` does.

    ``async for batch in ottla.scan_async("orders", "localhost:9092")`` connects, looks up the
    offsets and reads; batches are decoded on the core's threads, not on the loop's.

    Args:
        topics: a topic, or several.
        bootstrap: addresses as ``host:port``, the configuration as a mapping, or an
            ``AsyncClient``.
        config: configuration by Kafka's dotted names, as for ``scan``.
        start: where to start, as for ``scan``. Default: the earliest record.
        end: where to end, exclusive, as for ``scan``. With ``"never"``, the scan follows the
            partitions until it is closed, and reads ahead no more than its buffers hold. Default:
            the end of the log.
        partitions: the partitions to read. Default: all.
        columns: the columns, in this order. Default: all but ``headers``.
        include_headers: whether to add ``headers`` to the default columns.
        max_rows: the maximum number of rows in a batch.
        target_bytes: the number of bytes of keys, values and headers that ends a batch.
        fail_on_data_loss: whether to raise if records of the range were deleted.
        timeout: seconds to connect, to look up topics and offsets, and without progress. Default:
            ``default.api.timeout.ms``, 60 s.
        key_format: how keys with a schema are decoded. Default: keys stay bytes.
        value_format: the same for values.

    Returns:
        A scan, which starts when it is entered or iterated over; the errors of ``scan`` are raised
        there.

    Raises:
        ConfigError: an argument or a configuration key is invalid.
    """
    scanning.refuse_other_clients(bootstrap, AsyncClient)
    renew: Callable[[], AsyncClient] | None = None
    if isinstance(bootstrap, AsyncClient):
        if config or kwargs:
            raise ConfigError("a scan on an AsyncClient takes its configuration from it")
        first = bootstrap
    else:
        renew = partial(AsyncClient, bootstrap, config, timeout=timeout, **kwargs)
        first = renew()
    wanted = scanning.topic_list(topics)
    indexes = None if partitions is None else integers("partitions", partitions)
    if columns is not None:
        columns = names("columns", columns)
    # The core sees these when the scan starts: too late to show the call that passed them.
    include_headers = flag("include_headers", include_headers)
    fail_on_data_loss = flag("fail_on_data_loss", fail_on_data_loss)
    max_rows = integer("max_rows", max_rows)
    target_bytes = integer("target_bytes", target_bytes)
    if timeout is not None:
        timeout = number("timeout", timeout, "seconds, such as 1.5")

    async def begin(client: AsyncClient) -> AsyncScanBase:
        cluster = await client.cluster(wanted, timeout=timeout)
        chosen = scanning.chosen_partitions(cluster, wanted, indexes)
        bounds: list[dict[tuple[str, int], Any]] = []
        for name, bound in (("start", start), ("end", end)):
            if name == "end" and isinstance(bound, str) and bound == scanning.NEVER:
                bounds.append(dict.fromkeys(chosen))
                break
            lookup = scanning.offset_lookups(chosen, bound, name)
            found = None
            while True:
                try:
                    wanted_offsets = lookup.send(found)
                except StopIteration as done:
                    bounds.append(done.value)
                    break
                listed = await client.list_offsets(wanted_offsets, timeout=timeout)
                found = scanning.offsets_found(listed)
        starts, ends = bounds
        return await client._scan(  # noqa: SLF001 - the core of this class
            [(topic, index, starts[topic, index], ends[topic, index]) for topic, index in chosen],
            columns=columns,
            include_headers=include_headers,
            max_rows=max_rows,
            target_bytes=target_bytes,
            fail_on_data_loss=fail_on_data_loss,
            timeout=timeout,
            key_format=key_format,
            value_format=value_format,
        )

    return AsyncScan(begin, first, renew)
