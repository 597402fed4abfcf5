"""aiokafka's layer: ``getone``, ``getmany`` and iteration return each record once and in order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ottla.compat.aiokafka import (
    AIOKafkaConsumer,
    ConsumerRecord,
    ConsumerStoppedError,
    TopicPartition,
)
from ottla.compat.aiokafka.errors import (
    IllegalStateError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
)
from ottla.testing import MockCluster
from tests.support.loops import eventually, run

P0, P1 = TopicPartition("pairs", 0), TopicPartition("pairs", 1)


def consumer(cluster: MockCluster, *topics: str, **options: Any) -> AIOKafkaConsumer:
    defaults: dict[str, Any] = {
        "auto_offset_reset": "earliest",
        "fetch_max_wait_ms": 50,
        "group_id": "readers",
    }
    return AIOKafkaConsumer(*topics, bootstrap_servers=cluster.bootstrap, **(defaults | options))


def test_a_record_has_aiokafkas_fields(mock_cluster: MockCluster, pairs: str) -> None:
    async def read() -> None:
        async with consumer(mock_cluster, pairs) as reader:
            record = await reader.getone(P1)
        assert isinstance(record, ConsumerRecord)
        assert (record.topic, record.partition, record.offset) == ("pairs", 1, 0)
        assert (record.key, record.value, record.headers) == (None, b"1-0", ())
        assert (record.serialized_key_size, record.serialized_value_size) == (-1, 3)
        assert (record.timestamp_type, record.checksum) == (0, None)

    run(read())


def test_getmany_returns_records_by_partition(mock_cluster: MockCluster, pairs: str) -> None:
    async def read() -> None:
        async with consumer(mock_cluster, pairs, max_poll_records=7) as reader:
            seen: dict[TopicPartition, list[int]] = {P0: [], P1: []}
            while sum(map(len, seen.values())) < 20:
                batches = await reader.getmany(timeout_ms=5000)
                assert 1 <= sum(map(len, batches.values())) <= 7
                for partition, records in batches.items():
                    seen[partition] += [record.offset for record in records]
            assert seen == {P0: list(range(10)), P1: list(range(10))}
            assert await reader.getmany() == {}
            with pytest.raises(ValueError, match="max_records"):
                await reader.getmany(max_records=0)

    run(read())


def test_reading_one_partition_leaves_the_others_in_the_core(mock_cluster: MockCluster) -> None:
    """Regression: each partition's records were polled, and held up to a limit."""
    mock_cluster.create_topic("pairs", partitions=2)
    count = 5000
    mock_cluster.append("pairs", 0, [b"%d" % number for number in range(count)])
    mock_cluster.append("pairs", 1, [b"%d" % number for number in range(count)])

    async def read() -> None:
        async with consumer(mock_cluster, "pairs") as reader:
            first = [(await reader.getone(P1)).offset for _ in range(count)]
            assert first == list(range(count))
            assert reader._fetcher is not None
            assert reader._fetcher.held_positions() == {}
            assert await reader.position(P0) == 0
            second: list[int] = []
            while len(second) < count:
                batches = await reader.getmany(timeout_ms=5000)
                second += [record.offset for record in batches.get(P0, [])]
            assert second == list(range(count))

    run(read())


def test_tasks_may_read_different_partitions_at_once(mock_cluster: MockCluster, pairs: str) -> None:
    async def read() -> None:
        async with consumer(mock_cluster, pairs) as reader:

            async def take(partition: TopicPartition) -> list[int]:
                return [(await reader.getone(partition)).offset for _ in range(10)]

            first, second = await asyncio.gather(take(P0), take(P1))
            assert first == second == list(range(10))

    run(read())


def test_a_task_reads_while_another_one_waits(mock_cluster: MockCluster) -> None:
    """The poll for one partition ends when a reader of another one comes."""
    mock_cluster.create_topic("pairs", partitions=2)

    async def read() -> None:
        async with consumer(mock_cluster, "pairs") as reader:
            waiting = asyncio.ensure_future(reader.getone(P0))
            for number in range(5):
                mock_cluster.append("pairs", 1, [b"%d" % number])
                assert (await reader.getone(P1)).offset == number
            assert not waiting.done()
            mock_cluster.append("pairs", 0, [b"late"])
            assert (await waiting).value == b"late"

    run(read())


def test_a_position_is_that_of_the_next_record_while_records_arrive(
    mock_cluster: MockCluster, pairs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: it was the core's, which is past the records that were polled meanwhile."""

    async def read() -> None:
        async with consumer(mock_cluster, pairs) as reader:
            waiting = asyncio.ensure_future(reader.getone(P0))
            position = reader._engine.position

            async def late(*partition: Any, timeout: float) -> int:
                await waiting
                return await position(*partition, timeout=timeout)

            monkeypatch.setattr(reader._engine, "position", late)
            assert await reader.position(P0) == 1

    run(read())


def test_getmany_without_a_timeout_returns_what_has_arrived(
    mock_cluster: MockCluster, pairs: str
) -> None:
    async def read() -> None:
        async with consumer(mock_cluster, pairs) as reader:
            seen: dict[TopicPartition, list[int]] = {P0: [], P1: []}
            idle = asyncio.ensure_future(reader.getone(P0))
            seen[P0].append((await idle).offset)
            while sum(map(len, seen.values())) < 20:
                for partition, records in (await reader.getmany()).items():
                    seen[partition] += [record.offset for record in records]
            assert seen == {P0: list(range(10)), P1: list(range(10))}
            waiting = asyncio.ensure_future(reader.getone())
            assert await reader.getmany() == await reader.getmany(P1) == {}
            waiting.cancel()

    run(read())


def test_a_cancelled_getone_loses_nothing(mock_cluster: MockCluster, pairs: str) -> None:
    async def read() -> None:
        async with consumer(mock_cluster, pairs) as reader:
            await reader.getmany(timeout_ms=5000)
            await reader.getmany(timeout_ms=200)
            waiting = asyncio.ensure_future(reader.getone())
            await asyncio.sleep(0)
            mock_cluster.append("pairs", 0, [b"late"])
            waiting.cancel()
            await asyncio.wait([waiting])
            assert (await reader.getone()).value == b"late"

    run(read())


def test_a_record_that_cannot_be_deserialized_stays_the_next_one(
    mock_cluster: MockCluster, pairs: str
) -> None:
    is_broken = True

    def decode(value: bytes) -> str:
        if is_broken and value in (b"0-3", b"1-3"):
            raise ValueError("broken")
        return value.decode()

    async def read() -> None:
        nonlocal is_broken
        async with consumer(mock_cluster, pairs, value_deserializer=decode) as reader:
            for _ in range(2):
                with pytest.raises(ValueError, match="broken"):
                    await reader.getmany(P0, timeout_ms=5000)
            assert await reader.position(P0) == 0
            # Of a batch of two partitions, one can be deserialized so far.
            reader.seek(P0, 4)
            assert (await reader.getone(P0)).value == "0-4"
            assert [(await reader.getone(P1)).value for _ in range(3)] == ["1-0", "1-1", "1-2"]
            for _ in range(2):
                with pytest.raises(ValueError, match="broken"):
                    await reader.getmany(timeout_ms=5000)
            assert (await reader.position(P0), await reader.position(P1)) == (5, 3)
            is_broken = False
            batches = await reader.getmany(timeout_ms=5000)
            assert [record.value for record in batches[P0]] == [f"0-{n}" for n in range(5, 10)]
            assert [record.value for record in batches[P1]] == [f"1-{n}" for n in range(3, 10)]

    run(read())


def test_stop_ends_the_waits_of_readers(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("empty")

    async def read() -> None:
        reader = consumer(mock_cluster, "empty")
        await reader.start()
        one = asyncio.ensure_future(reader.getone())
        many = asyncio.ensure_future(reader.getmany(timeout_ms=60_000))

        async def iterate() -> int:
            return len([record async for record in reader])

        iteration = asyncio.ensure_future(iterate())
        await asyncio.sleep(0)
        await reader.stop()
        with pytest.raises(ConsumerStoppedError):
            await one
        assert await many == {}
        assert await iteration == 0
        with pytest.raises(ConsumerStoppedError):
            await reader.getmany()

    run(read())


def test_a_partition_without_a_position_is_an_error_until_a_seek(
    mock_cluster: MockCluster, pairs: str
) -> None:
    async def read() -> None:
        reader = consumer(mock_cluster, auto_offset_reset="none")
        reader.assign([P0])
        async with reader:
            for _ in range(2):
                with pytest.raises(NoOffsetForPartitionError):
                    await reader.getone()
            reader.seek(P0, 1000)
            with pytest.raises(OffsetOutOfRangeError):
                await reader.getmany(P0, timeout_ms=5000)
            reader.seek(P0, 5)
            assert (await reader.getone(P0)).value == b"0-5"

    run(read())


@pytest.mark.parametrize("isolation_level", ["read_uncommitted", "read_committed"])
def test_the_end_of_a_partition_is_known_before_its_first_record(
    mock_cluster: MockCluster, pairs: str, isolation_level: str
) -> None:
    async def read() -> None:
        options = {"isolation_level": isolation_level, "auto_offset_reset": "latest"}
        reader = consumer(mock_cluster, **options)
        reader.assign([P0])
        async with reader:
            waiting = asyncio.ensure_future(reader.getone())
            await eventually(lambda: reader.highwater(P0) == 10)
            is_committed = isolation_level == "read_committed"
            assert reader.last_stable_offset(P0) == (10 if is_committed else -1)
            assert reader.last_poll_timestamp(P0) is not None
            with pytest.raises(AssertionError):
                reader.highwater(P1)
            waiting.cancel()

    run(read())


def test_pause_and_resume(mock_cluster: MockCluster, pairs: str) -> None:
    async def read() -> None:
        async with consumer(mock_cluster, pairs) as reader:
            reader.pause(P0)
            assert reader.paused() == {P0}
            seen = [(await reader.getone()).partition for _ in range(10)]
            assert set(seen) == {1}
            reader.resume(P0)
            assert (await reader.getone()).value == b"0-0"
            with pytest.raises(IllegalStateError):
                reader.pause(TopicPartition("pairs", 9))

    run(read())
