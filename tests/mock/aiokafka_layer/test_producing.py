"""aiokafka's layer: what ``send``, batches and transactions write, and which errors they raise."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

import ottla
from ottla.compat.aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from ottla.compat.aiokafka.errors import (
    IllegalOperation,
    MessageSizeTooLargeError,
    ProducerClosed,
    ProducerFenced,
    UnknownTopicOrPartitionError,
)
from ottla.compat.aiokafka.partitioner import DefaultPartitioner
from ottla.compat.aiokafka.producer.transaction_manager import TransactionState
from ottla.compat.aiokafka.structs import RecordMetadata
from ottla.testing import MockCluster
from tests.support.loops import eventually, run

P0 = TopicPartition("pairs", 0)


def producer(cluster: MockCluster, **options: Any) -> AIOKafkaProducer:
    return AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, **options)


def values(cluster: MockCluster, topic: str) -> list[bytes | None]:
    """The committed values of a topic, by partition and offset."""
    with ottla.scan(topic, cluster.bootstrap, isolation_level="read_committed") as scan:
        rows = [row for batch in scan for row in batch.rows()]
    return [row[1] for row in sorted(rows, key=lambda row: (row[3], row[4]))]


def test_the_metadata_of_a_record(mock_cluster: MockCluster, pairs: str) -> None:
    async def write() -> None:
        async with producer(mock_cluster, value_serializer=str.encode) as writer:
            future = await writer.send(pairs, "v", key=b"k", partition=0, timestamp_ms=5)
            assert isinstance(future, asyncio.Future)
            assert await future == RecordMetadata("pairs", 0, P0, 10, 5, 0, None)
            sent = await writer.send_and_wait(
                pairs, "w", partition=0, headers=[("type", b"a"), ("type", b"b")]
            )
            assert sent.offset == 11
            assert await writer.partitions_for(pairs) == {0, 1}
        async with AIOKafkaConsumer(bootstrap_servers=mock_cluster.bootstrap) as reader:
            reader.assign([P0])
            reader.seek(P0, 11)
            assert (await reader.getone()).headers == (("type", b"a"), ("type", b"b"))

    run(write())


def test_without_acknowledgements_the_future_has_no_metadata(
    mock_cluster: MockCluster, pairs: str
) -> None:
    async def write() -> None:
        async with producer(mock_cluster, acks=0) as writer:
            assert await writer.send_and_wait(pairs, b"v") is None
            batch = writer.create_batch()
            batch.append(key=None, value=b"w", timestamp=None)
            assert await (await writer.send_batch(batch, pairs, partition=0)) is None

    run(write())


def test_wrong_records_are_refused(mock_cluster: MockCluster, pairs: str) -> None:
    async def write() -> None:
        async with producer(mock_cluster, max_request_size=500) as writer:
            with pytest.raises(TypeError):
                await writer.send(pairs, "text")
            with pytest.raises(AssertionError):
                await writer.send(pairs)
            with pytest.raises(AssertionError, match="partition"):
                await writer.send(pairs, b"v", partition=7)
            with pytest.raises(MessageSizeTooLargeError):
                await writer.send(pairs, b"v" * 500)
        with pytest.raises(ProducerClosed):
            await writer.send(pairs, b"v")
        assert values(mock_cluster, pairs) == [b"0-%d" % i for i in range(10)] + [
            b"1-%d" % i for i in range(10)
        ]

    run(write())


def test_wrong_arguments_are_refused() -> None:
    async def create() -> None:
        for wrong in (
            {"acks": 7},
            {"compression_type": "zip"},
            {"acks": 1, "enable_idempotence": True},
            {"security_protocol": "TLS"},
            {"security_protocol": "SSL"},
        ):
            with pytest.raises(ValueError):  # noqa: PT011 - each has a text of its own
                AIOKafkaProducer(**wrong)

    run(create())


def test_a_topic_that_does_not_appear_is_an_error() -> None:
    async def write(cluster: MockCluster) -> None:
        async with producer(cluster, request_timeout_ms=300) as writer:
            with pytest.raises(UnknownTopicOrPartitionError):
                await writer.send("missing", b"v")

    with MockCluster(auto_create_topics=False) as cluster:
        run(write(cluster))


def test_partitions_are_chosen_as_by_aiokafka(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("many", partitions=7)
    asked: list[tuple[bytes | None, Sequence[int], Sequence[int]]] = []

    def last(key: bytes | None, everything: Sequence[int], available: Sequence[int]) -> int:
        asked.append((key, everything, available))
        return everything[-1]

    async def write() -> None:
        chosen, everything = DefaultPartitioner(), list(range(7))
        async with producer(mock_cluster) as writer:
            for number in range(20):
                key = b"key-%d" % number
                sent = await writer.send_and_wait("many", b"v", key=key)
                assert sent.partition == chosen(key, everything, everything)
        async with producer(mock_cluster, partitioner=last) as writer:
            assert (await writer.send_and_wait("many", b"v", key=b"k")).partition == 6
        assert asked == [(b"k", everything, everything)]

    run(write())


def test_a_batch_is_full_by_its_size_on_the_wire(mock_cluster: MockCluster, pairs: str) -> None:
    async def write() -> None:
        async with producer(mock_cluster, max_batch_size=1000) as writer:
            batch = writer.create_batch()
            while batch.append(key=b"k", value=b"v" * 50, timestamp=None) is not None:
                assert batch.size() <= 1000
            # A record takes 58 bytes, and the header of the batch 61.
            assert batch.record_count() == 16
            assert batch.closed()
            sent = await (await writer.send_batch(batch, pairs, partition=1))
            assert (sent.topic_partition, sent.offset) == (TopicPartition("pairs", 1), 10)
            alone = writer.create_batch()
            assert alone.append(key=None, value=b"v" * 2000, timestamp=1) is not None
            assert alone.append(key=None, value=b"v", timestamp=1) is None
            assert alone.record_count() == 1
        assert values(mock_cluster, pairs)[20:] == [b"v" * 50] * 16

    run(write())


def test_transactions_commit_or_abort(mock_cluster: MockCluster, pairs: str) -> None:
    async def write() -> None:
        async with producer(mock_cluster, transactional_id="writer") as writer:
            with pytest.raises(IllegalOperation):
                await writer.send(pairs, b"outside", partition=0)
            async with writer.transaction():
                sent = await writer.send(pairs, b"committed", partition=0)
                await writer.send_offsets_to_transaction({P0: (4, "four")}, "readers")
            assert sent.done()
            futures = []

            async def fail() -> None:
                async with writer.transaction():
                    futures.append(await writer.send(pairs, b"aborted", partition=0))
                    raise ValueError("not today")

            with pytest.raises(ValueError, match="not today"):
                await fail()
            # As with aiokafka: the record was written, and is invisible.
            assert (await futures[0]).offset == 12
            with pytest.raises(IllegalOperation, match="middle"):
                await writer.send_offsets_to_transaction({P0: 1}, "readers")
        async with producer(mock_cluster) as plain:
            with pytest.raises(IllegalOperation):
                await plain.begin_transaction()

    run(write())
    assert values(mock_cluster, pairs)[10] == b"committed"
    assert b"aborted" not in values(mock_cluster, pairs)
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        offset = admin.list_group_offsets(["readers"])["readers"][P0]
    assert (offset.offset, offset.metadata) == (4, "four")


def test_a_fenced_producer(mock_cluster: MockCluster, pairs: str) -> None:
    async def write() -> None:
        async with producer(mock_cluster, transactional_id="writer") as writer:
            async with writer.transaction():
                await writer.send_and_wait(pairs, b"before", partition=0)
            await writer.begin_transaction()
            mock_cluster.fence_producer("writer")
            with pytest.raises(ProducerFenced):
                await writer.send_offsets_to_transaction({P0: 1}, "readers")
            assert writer._txn_manager.is_fatal_error()

    run(write())


def test_a_cancelled_commit_goes_on(mock_cluster: MockCluster, pairs: str) -> None:
    async def write() -> None:
        async with producer(mock_cluster, transactional_id="writer") as writer:
            await writer.begin_transaction()
            await writer.send(pairs, b"committed", partition=0)
            commit = asyncio.ensure_future(writer.commit_transaction())
            await asyncio.sleep(0)
            commit.cancel()
            await asyncio.wait([commit])
            # The next transaction waits for the one before.
            await eventually(lambda: writer._txn_manager.state is TransactionState.READY)
            await writer.begin_transaction()
            await writer.commit_transaction()

    run(write())
    assert values(mock_cluster, pairs)[10] == b"committed"


def test_subclasses_that_replace_send_see_each_record(
    mock_cluster: MockCluster, pairs: str
) -> None:
    """Instrumentation wraps ``send`` alone."""
    seen = []

    class Counting(AIOKafkaProducer):
        async def send(self, *args: Any, **kwargs: Any) -> asyncio.Future[RecordMetadata]:
            seen.append(args[1])
            return await super().send(*args, **kwargs)

    async def write() -> None:
        async with Counting(bootstrap_servers=mock_cluster.bootstrap) as writer:
            await writer.send_and_wait(pairs, b"v")

    run(write())
    assert seen == [b"v"]
