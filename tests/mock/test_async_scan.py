"""``ottla.scan_async``: the same rows as ``scan``, cancellation, an early end, and errors."""

from __future__ import annotations

import asyncio
import inspect
from types import SimpleNamespace
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster
from tests.support.loops import run
from tests.support.ports import free_ports


def fill(cluster: MockCluster, topic: str, count: int = 30) -> None:
    with ottla.Producer(cluster.bootstrap) as producer:
        for number in range(count):
            producer.send(topic, str(number), partition=number % 3)


def rows_of(batch: ottla.RecordBatch) -> list[Any]:
    return [tuple(row) for row in batch.rows()]


COLUMNS = ["topic", "partition", "offset", "value"]


@pytest.mark.parametrize("bounds", [{}, {"start": 2, "end": 7}, {"start": "latest"}])
def test_the_rows_are_those_of_scan(
    mock_cluster: MockCluster, topic: str, bounds: dict[str, Any]
) -> None:
    fill(mock_cluster, topic)
    options: dict[str, Any] = {"columns": COLUMNS, "max_rows": 4, **bounds}
    twin = [
        row
        for batch in ottla.scan(topic, mock_cluster.bootstrap, **options)
        for row in rows_of(batch)
    ]

    async def read() -> None:
        rows = []
        async for batch in ottla.scan_async(topic, mock_cluster.bootstrap, **options):
            assert batch.num_rows <= 4
            rows += rows_of(batch)
        assert sorted(rows) == sorted(twin)
        async with ottla.AsyncClient(mock_cluster.bootstrap) as client:
            async with ottla.scan_async(topic, client, **options) as scan:
                assert scan.column_names == COLUMNS
            assert await client.topic_names() == [topic], "the scan closed a shared client"

    run(read())


def test_the_arguments_are_those_of_scan() -> None:
    blocking, asynchronous = (
        list(inspect.signature(call).parameters.values()) for call in (ottla.scan, ottla.scan_async)
    )
    assert [(one.name, one.kind, one.default) for one in blocking] == [
        (one.name, one.kind, one.default) for one in asynchronous
    ]


def test_cancelled_waits_lose_no_batch(mock_cluster: MockCluster, topic: str) -> None:
    fill(mock_cluster, topic)

    async def read() -> None:
        seen: list[Any] = []
        scan = ottla.scan_async(topic, mock_cluster.bootstrap, columns=COLUMNS, max_rows=1)
        while True:
            wait = asyncio.ensure_future(scan.__anext__())
            await asyncio.sleep(0)
            wait.cancel()  # before, or after, the batch was read
            try:
                seen += rows_of(await wait)
            except asyncio.CancelledError:
                pass
            except StopAsyncIteration:
                break
            try:
                seen += rows_of(await scan.__anext__())
            except StopAsyncIteration:
                break
        assert sorted(row[3] for row in seen) == sorted(str(n).encode() for n in range(30))
        await scan.close()

    run(read())


def test_an_early_end_closes_it(mock_cluster: MockCluster, topic: str) -> None:
    fill(mock_cluster, topic)

    async def read() -> None:
        async with ottla.scan_async(topic, mock_cluster.bootstrap, max_rows=1) as scan:
            async for _ in scan:
                break
        with pytest.raises(errors.ClosedError, match="was closed"):
            await scan.__anext__()
        await scan.close()

    run(read())


def test_errors_are_raised_when_it_starts(mock_cluster: MockCluster, topic: str) -> None:
    async def read() -> None:
        with pytest.raises(errors.ConfigError, match="configuration"):
            ottla.scan_async(topic, ottla.AsyncClient(mock_cluster.bootstrap), {"client.id": "x"})
        with pytest.raises(errors.UnknownTopicError, match="partition 9"):
            async with ottla.scan_async(topic, mock_cluster.bootstrap, partitions=[9]):
                pass
        with pytest.raises(errors.ConfigError, match=r"column .no. does not exist"):
            async for _ in ottla.scan_async(topic, mock_cluster.bootstrap, columns=["no"]):
                pass
        with pytest.raises(errors.ArgumentTypeError, match="value_format="):
            ottla.scan_async(topic, mock_cluster.bootstrap, value=None)  # type: ignore[call-arg]

    run(read())


def test_a_second_reader_gets_an_error(mock_cluster: MockCluster, topic: str) -> None:
    async def read() -> None:
        scan = ottla.scan_async(topic, mock_cluster.bootstrap)
        first = asyncio.ensure_future(scan.__anext__())
        await asyncio.sleep(0)
        with pytest.raises(errors.ClosedError, match="another task"):
            await scan.__anext__()
        with pytest.raises(StopAsyncIteration):
            await first
        await scan.close()

    run(read())


@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_a_scan_without_an_end_follows_until_it_is_closed(
    mock_cluster: MockCluster, topic: str, start: str
) -> None:
    """A wait that is cancelled loses nothing; the end of the block ends it, although it waits."""
    fill(mock_cluster, topic, 30)

    async def read() -> None:
        options: dict[str, Any] = {"start": start, "end": "never", "columns": COLUMNS}
        seen: list[Any] = []
        expected = 60 if start == "earliest" else 30
        async with (
            ottla.AsyncClient(mock_cluster.bootstrap) as client,
            ottla.scan_async(topic, client, **options) as scan,
        ):
            await asyncio.to_thread(fill, mock_cluster, topic, 30)
            while len(seen) < expected:
                seen += rows_of(await asyncio.wait_for(scan.__anext__(), 60))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(scan.__anext__(), 0.05)
            await asyncio.to_thread(fill, mock_cluster, topic, 3)
            while len(seen) < expected + 3:
                seen += rows_of(await asyncio.wait_for(scan.__anext__(), 60))
            waiting = asyncio.ensure_future(scan.__anext__())
            await asyncio.sleep(0)
            await scan.close()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            with pytest.raises(errors.ClosedError):
                await scan.__anext__()
            assert await client.topic_names() == [topic]
        assert len({(row[1], row[2]) for row in seen}) == len(seen) == expected + 3
        first = min(row[2] for row in seen)
        assert first == (0 if start == "earliest" else 10)

    run(read())


def test_a_scan_that_follows_reads_ahead_within_its_buffers(
    mock_cluster: MockCluster, single: str
) -> None:
    """Whoever does not read has a bounded part of the topic in memory."""
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for _ in range(400):
            producer.send(single, b"x" * 50_000)

    async def read() -> None:
        config = {"fetch.max.bytes": 1_000_000}
        async with (
            ottla.AsyncClient(mock_cluster.bootstrap, config) as client,
            ottla.scan_async(
                single, client, end="never", columns=["offset", "value"], target_bytes=100_000
            ) as scan,
        ):
            read_bytes = [-1.0, 0.0]
            while read_bytes[-1] != read_bytes[-2]:
                await asyncio.sleep(0.2)
                read_bytes.append(client.metrics()["incoming-byte-total"])
            assert 0 < read_bytes[-1] < 10_000_000
            rows = 0
            while rows < 400:
                rows += (await asyncio.wait_for(scan.__anext__(), 60)).num_rows

    run(read())


@pytest.mark.parametrize("is_shared", [True, False])
def test_closing_a_scan_ends_the_loop_of_another_task(
    mock_cluster: MockCluster, topic: str, is_shared: bool
) -> None:
    """With a client of the application, the loop waited forever; otherwise it got its error."""
    fill(mock_cluster, topic, 3)

    async def read() -> None:
        bootstrap = mock_cluster.bootstrap
        client = ottla.AsyncClient(bootstrap) if is_shared else None
        scan = ottla.scan_async(topic, client or bootstrap, end="never", columns=COLUMNS)
        seen: list[Any] = []
        all_seen = asyncio.Event()

        async def follow() -> None:
            async for batch in scan:
                seen.extend(rows_of(batch))
                if len(seen) == 3:
                    all_seen.set()

        reading = asyncio.ensure_future(follow())
        await asyncio.wait_for(all_seen.wait(), 60)
        await asyncio.sleep(0)
        await scan.close()
        await asyncio.wait_for(reading, 60)
        with pytest.raises(errors.ClosedError, match="this scan was closed"):
            await scan.__anext__()
        if client is not None:
            assert await client.topic_names() == [topic]
            await client.close()

    run(read())


def test_closing_a_scan_ends_its_start() -> None:
    (port,) = free_ports(1)

    async def read() -> None:
        scan = ottla.scan_async("t", f"127.0.0.1:{port}")
        reading = asyncio.ensure_future(scan.__anext__())
        while not scan._ends:  # noqa: ASYNC110 - no event tells that the start waits
            await asyncio.sleep(0)
        await scan.close()
        with pytest.raises(errors.ClosedError, match="this scan was closed while it started"):
            await asyncio.wait_for(reading, 60)

    run(read())


def test_a_wait_that_is_cancelled_as_it_ends_loses_no_batch(
    mock_cluster: MockCluster, topic: str
) -> None:
    """The batch was there, and the task had not run yet."""
    fill(mock_cluster, topic)

    async def read() -> None:
        async with ottla.scan_async(topic, mock_cluster.bootstrap, max_rows=1) as scan:
            core: Any = scan._scan
            cancelled: list[Any] = []

            def next_of_core() -> Any:
                future = core.next()
                # Before the callback that wakes the task.
                future.add_done_callback(lambda _: reading.cancel())
                return future

            scan._scan = SimpleNamespace(next=next_of_core, close=core.close)  # type: ignore[assignment]
            seen: list[Any] = []
            while True:
                reading = asyncio.ensure_future(scan.__anext__())
                try:
                    seen += rows_of(await reading)
                except asyncio.CancelledError:
                    cancelled.append(reading)
                except StopAsyncIteration:
                    break
        assert len(seen) == 30
        assert len(cancelled) >= 30

    run(read())
