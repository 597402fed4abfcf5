"""``AsyncProducer`` returns the deliveries of ``Producer`` as native futures."""

from __future__ import annotations

import asyncio

import pyarrow as pa
import pytest

import ottla
from ottla import AsyncProducer, errors
from ottla.testing import Fault, MockCluster
from tests.support.arrow import read_rows, values
from tests.support.loops import run


def test_methods_match_the_sync_producer() -> None:
    def public(cls: type) -> set[str]:
        return {name for name in vars(cls) if not name.startswith("_")}

    assert public(AsyncProducer) == public(ottla.Producer) | {"connect"}
    assert public(ottla.AsyncBatchDelivery) == public(ottla.BatchDelivery)


def test_records_are_at_the_reported_offsets(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> list[ottla.RecordMetadata]:
        async with AsyncProducer(mock_cluster.bootstrap) as producer:
            assert repr(producer).startswith("AsyncProducer(bootstrap=")
            first = await producer.send(topic, b"v0", "k", headers={"h": b"x"}, timestamp=17)
            second = await producer.send(topic, "v1", partition=2)
            return [first, second]

    first, second = run(work())
    assert first.topic == second.topic == topic
    assert (first.timestamp, first.offset) == (17, 0)
    assert first.partition == ottla.partition_for_key(b"k", 3)
    assert second.partition == 2
    written = read_rows(ottla.scan(topic, mock_cluster.bootstrap, include_headers=True))
    found = {(row["partition"], row["offset"]): row["value"] for row in written}
    assert found[first.partition, first.offset] == b"v0"
    assert found[second.partition, second.offset] == b"v1"


def test_the_first_record_connects(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> None:
        producer = AsyncProducer(mock_cluster.bootstrap)
        assert (await producer.send(topic, b"v", partition=0)).offset == 0
        await producer.close()
        with pytest.raises(errors.ClosedError):
            await producer.send(topic, b"late")

    run(work())


def test_producer_on_a_shared_client_uses_its_connections(
    mock_cluster: MockCluster, topic: str
) -> None:
    async def work() -> None:
        async with ottla.AsyncClient(mock_cluster.bootstrap) as client:
            async with AsyncProducer(client) as producer:
                await producer.send(topic, b"v", partition=0)
            assert await client.topic_names() == [topic], "closing the producer closed the client"
            with pytest.raises(errors.ConfigError, match="takes its configuration from it"):
                AsyncProducer(client, linger_ms=0)
        with ottla.Client(mock_cluster.bootstrap) as twin:
            async with AsyncProducer(twin) as producer:
                assert (await producer.send(topic, b"v", partition=0)).offset == 1

    run(work())


def test_an_invalid_record_fails_alone(mock_cluster: MockCluster, single: str) -> None:
    async def work() -> None:
        async with AsyncProducer(mock_cluster.bootstrap, max_request_size=10_000) as producer:
            await producer.send(single, b"first")
            good = producer.send(single, b"good")
            with pytest.raises(errors.RecordTooLargeError, match=r"max\.request\.size"):
                await producer.send(single, b"x" * 10_001)
            with pytest.raises(errors.UnknownTopicError, match="partition 7 does not exist"):
                await producer.send(single, b"", partition=7)
            with pytest.raises(TypeError, match="value is of type float"):
                await producer.send(single, 1.5)
            assert (await good).offset == 1

    run(work())


def test_a_rejected_record_raises_the_broker_error(mock_cluster: MockCluster, single: str) -> None:
    async def work() -> None:
        async with AsyncProducer(mock_cluster.bootstrap) as producer:
            await producer.send(single, b"before")
            mock_cluster.inject(Fault.error("INVALID_RECORD"), api="Produce", times=1)
            sent = [producer.send(single, b"%d" % n) for n in range(3)]
            results = await asyncio.gather(*sent, return_exceptions=True)
            assert {type(result) for result in results} == {errors.BrokerError}
            assert len({id(result) for result in results}) == 3, "deliveries share an exception"
            first = results[0]
            assert isinstance(first, errors.BrokerError)
            assert (first.name, first.maybe_done) == ("INVALID_RECORD", False)
            assert (first.context["topic"], first.context["partition"]) == (single, 0)

    run(work())


@pytest.mark.parametrize("kind", ["lists", "arrow"])
def test_batches(mock_cluster: MockCluster, single: str, kind: str) -> None:
    many = [b"%d" % number for number in range(5000)]
    data = pa.table({"value": many, "key": many}) if kind == "arrow" else many

    async def work() -> None:
        # The buffer holds only a fraction of the records.
        async with AsyncProducer(
            mock_cluster.bootstrap, buffer_memory=20_000, batch_size=4000, linger_ms=0
        ) as producer:
            sent = await producer.send_batch(single, data)
            assert len(sent) == 5000
            assert await sent.result() == 5000
            assert sent.done()
            assert await sent.errors() == []
            assert [count for _, _, count in await sent.written()] == [5000]
            assert repr(sent) == "AsyncBatchDelivery(count=5000, done=True)"

    run(work())
    assert values(ottla.scan(single, mock_cluster.bootstrap)) == many


def test_a_batch_reports_failed_rows(mock_cluster: MockCluster, single: str) -> None:
    async def work() -> None:
        async with AsyncProducer(mock_cluster.bootstrap, max_request_size=10_000) as producer:
            sent = await producer.send_batch(single, [b"a", b"x" * 10_001, b"c"])
            with pytest.raises(
                errors.RecordTooLargeError, match="1 of 3 records failed, the first at index 1"
            ):
                await sent.result()
            failed = await sent.errors()
            assert [(first, count) for first, count, _ in failed] == [(1, 1)]
            with pytest.raises(TypeError, match=r"values\[1\]"):
                await producer.send_batch(single, [b"a", 1])

    run(work())
    assert values(ottla.scan(single, mock_cluster.bootstrap)) == [b"a", b"c"]
