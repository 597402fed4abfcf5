"""KafkaProducer of the layer."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

from ottla.compat.kafka import OffsetAndMetadata, TopicPartition, errors
from ottla.compat.kafka.partitioner import DefaultPartitioner, Partitioner, StickyPartitioner
from ottla.compat.kafka.serializer import DefaultSerializer, JsonSerializer
from ottla.testing import Fault, MockCluster
from tests.support.waiting import wait_until


def test_a_record_and_its_metadata(topic: str, producer_of: Any, consumer_of: Any) -> None:
    producer = producer_of()
    future = producer.send(topic, b"value", b"key", [("h", b"1")], partition=1, timestamp_ms=5)
    metadata = future.get(timeout=30)
    assert metadata == future.value
    assert future.succeeded()
    assert not future.failed()
    assert metadata.topic_partition == TopicPartition("orders", 1)
    assert (metadata.offset, metadata.timestamp, metadata.checksum) == (0, 5, None)
    assert metadata[-3:] == (3, 5, 2)
    record = next(consumer_of(topic))
    assert (record.key, record.value, record.headers) == (b"key", b"value", [("h", b"1")])


def test_callbacks(topic: str, producer_of: Any) -> None:
    producer = producer_of()
    calls: list[Any] = []
    future = producer.send(topic, b"v").add_callback(calls.append).add_errback(calls.append)
    future.add_callback(lambda *arguments: calls.append(arguments), "more")
    producer.flush(timeout=30)
    assert calls == [future.value, ("more", future.value)]
    future.add_both(calls.append)
    assert len(calls) == 3


def test_a_failure_reaches_its_callbacks(
    mock_cluster: MockCluster, topic: str, producer_of: Any
) -> None:
    mock_cluster.inject(Fault.error("TOPIC_AUTHORIZATION_FAILED"), api="Produce")
    producer = producer_of()
    calls: list[Any] = []
    future = producer.send(topic, b"v").add_errback(calls.append).add_callback(calls.append)
    with pytest.raises(errors.TopicAuthorizationFailedError):
        future.get(timeout=30)
    producer.flush(timeout=30)
    assert calls == [future.exception]
    assert future.failed()
    assert not future.retriable()
    assert future.value is None


def test_a_callback_that_raises_reaches_the_log_alone(
    topic: str, producer_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    producer = producer_of()
    future = producer.send(topic, b"v")
    future.add_callback(lambda _: 1 / 0)
    producer.flush(timeout=30)
    assert future.get(timeout=30).offset == 0
    assert "a callback of a future has failed" in caplog.text


def test_get_ends_with_its_timeout(mock_cluster: MockCluster, topic: str, producer_of: Any) -> None:
    producer = producer_of()
    producer.send(topic, b"v", partition=0).get(timeout=30)
    mock_cluster.inject(Fault.delay(60.0), api="Produce")
    future = producer.send(topic, b"v", partition=0)
    with pytest.raises(errors.KafkaTimeoutError):
        future.get(timeout=0.01)
    with pytest.raises(errors.KafkaTimeoutError):
        producer.flush(timeout=0.01)
    assert not future.is_done
    with pytest.raises(errors.KafkaTimeoutError):
        producer.close(timeout=0)


def test_what_send_refuses(topic: str, producer_of: Any) -> None:
    producer = producer_of(max_request_size=1_000)
    for arguments, expected in (
        ({}, ValueError),
        ({"value": 1}, TypeError),
        ({"value": "text"}, TypeError),
        ({"value": b"v", "headers": {"h": b"1"}}, TypeError),
        ({"value": b"v", "headers": [("h", "1")]}, TypeError),
        ({"value": b"v", "partition": -1}, ValueError),
        ({"value": b"v", "partition": 3}, ValueError),
        ({"value": b"v" * 2_000}, errors.MessageSizeTooLargeError),
    ):
        with pytest.raises(expected):
            producer.send(topic, **arguments)
    with pytest.raises(ValueError, match="Topic name"):
        producer.send("a b", b"v")
    producer.close()
    with pytest.raises(errors.IllegalStateError):
        producer.send(topic, b"v")


def test_serializers(topic: str, producer_of: Any, consumer_of: Any) -> None:
    class Older:
        def serialize(self, topic: str, value: Any) -> bytes:
            return f"{topic}:{value}".encode()

    producer = producer_of(key_serializer=DefaultSerializer(), value_serializer=JsonSerializer())
    producer.send(topic, {"a": 1}, "key", partition=0).get(timeout=30)
    for serializer, value in ((Older(), 2), (str.encode, "three")):
        with pytest.warns(DeprecationWarning, match="value_serializer"):
            older = producer_of(value_serializer=serializer)
        older.send(topic, value, partition=0).get(timeout=30)
    consumer = consumer_of(topic)
    records = [next(consumer) for _ in range(3)]
    assert [record.value for record in records] == [b'{"a": 1}', b"orders:2", b"three"]
    assert records[0].key == b"key"


def test_the_default_partitioner_chooses_for_each_record(topic: str, producer_of: Any) -> None:
    producer = producer_of()
    sent = [producer.send(topic, b"v").get(timeout=30).partition for _ in range(100)]
    # One partition for all of a hundred is one chance in 3**99.
    assert len(set(sent)) > 1
    keyed = {producer.send(topic, b"v", b"key").get(timeout=30).partition for _ in range(5)}
    cluster = producer._client.cluster
    expected = DefaultPartitioner().partition(topic, b"key", b"key", b"v", b"v", cluster)
    assert keyed == {expected}
    sticky = producer_of(partitioner=StickyPartitioner(), linger_ms=1_000)
    futures = [sticky.send(topic, b"v") for _ in range(100)]
    sticky.flush(timeout=30)
    assert len({future.value.partition for future in futures}) == 1


def test_partitioners_of_all_three_kinds(topic: str, producer_of: Any) -> None:
    class Current(Partitioner):
        def partition(
            self, topic: str, key: Any, serialized_key: Any, value: Any, *rest: Any
        ) -> Any:
            assert (key, serialized_key, value, rest[0]) == ("k", b"k", "v", b"v")
            assert rest[1].partitions_for_topic(topic) == {0, 1, 2}
            return 2

    class Older:
        def partition(self, topic: str, serialized_key: Any, cluster: Any) -> Any:
            return max(cluster.available_partitions_for_topic(topic))

    def oldest(key: bytes, all_partitions: list[int], available: list[int]) -> int:
        assert all_partitions == available == [0, 1, 2]
        return all_partitions[-1]

    class Undecided(Partitioner):
        def partition(self, *arguments: Any) -> Any:
            return None

    text = DefaultSerializer()
    for partitioner in (Current(), Older(), oldest):
        producer = producer_of(partitioner=partitioner, key_serializer=text, value_serializer=text)
        assert producer.send(topic, "v", "k").get(timeout=30).partition == 2
    with pytest.raises(ValueError, match="did not assign"):
        producer_of(partitioner=Undecided()).send(topic, b"v")


def test_topics_that_do_not_exist(mock_cluster: MockCluster, producer_of: Any) -> None:
    producer = producer_of()
    assert producer.send("created", b"v").get(timeout=30).offset == 0
    assert producer.partitions_for("created") == {0}
    careful = producer_of(allow_auto_create_topics=False, max_block_ms=100)
    with pytest.raises(errors.KafkaTimeoutError):
        careful.send("missing", b"v")
    assert "missing" not in producer._client.cluster.topics()
    with pytest.raises(errors.KafkaTimeoutError):
        careful.partitions_for("missing")


def test_a_producer_that_nobody_closes_sends_its_records(
    mock_cluster: MockCluster, topic: str, producer_of: Any
) -> None:
    from ottla.compat.kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=mock_cluster.bootstrap, linger_ms=60_000)
    producer.send(topic, b"v", partition=0)
    del producer
    gc.collect()
    assert mock_cluster.end_offset("orders", 0) == 1


def test_transactions(topic: str, producer_of: Any, consumer_of: Any) -> None:
    producer = producer_of(transactional_id="t")
    with pytest.raises(errors.IllegalStateError):
        producer.begin_transaction()
    producer.init_transactions()
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"aborted", partition=0)
    producer.abort_transaction()
    producer.begin_transaction()
    producer.send(topic, b"committed", partition=0)
    where = TopicPartition("orders", 1)
    producer.send_offsets_to_transaction({where: OffsetAndMetadata(7)}, "g")
    producer.commit_transaction()
    consumer = consumer_of(topic, group_id="g", isolation_level="read_committed")
    assert next(consumer).value == b"committed"
    assert consumer.committed(where) == 7
    fenced = producer_of(transactional_id="t")
    fenced.init_transactions()
    producer.begin_transaction()
    late = producer.send(topic, b"late", partition=0)
    with pytest.raises(errors.ProducerFencedError):
        producer.commit_transaction()
    assert isinstance(late.exception, errors.ProducerFencedError)


def test_transactions_need_an_id(producer_of: Any) -> None:
    producer = producer_of()
    for call in (
        producer.init_transactions,
        producer.begin_transaction,
        producer.commit_transaction,
        producer.abort_transaction,
    ):
        with pytest.raises(errors.IllegalStateError):
            call()


def test_callbacks_come_from_another_thread_and_may_send(topic: str, producer_of: Any) -> None:
    producer = producer_of()
    threads: list[int] = []
    sent: list[Any] = []

    def again(_: Any) -> None:
        threads.append(threading.get_ident())
        sent.append(producer.send(topic, b"again"))

    producer.send(topic, b"v").add_callback(again)
    wait_until(lambda: sent)
    assert sent[0].get(timeout=30).topic == "orders"
    assert producer.bootstrap_connected()
    assert producer.metrics()["producer-metrics"]["record-send-total"] >= 1
