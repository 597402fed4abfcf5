"""KafkaConsumer of the layer: reading and positions."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.compat.kafka import TopicPartition, errors
from ottla.compat.kafka.serializer import Deserializer, JsonSerializer
from ottla.testing import MockCluster
from tests.mock.kafka_python_layer.reading import ORDERS, fill, read
from tests.support.waiting import wait_until


def test_poll_returns_records_by_partition(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    fill(mock_cluster, 3, partition=1)
    consumer = consumer_of(topic)
    found = consumer.poll(timeout_ms=30_000)
    assert list(found) == [ORDERS[1]]
    record = found[ORDERS[1]][1]
    assert (record.topic, record.partition, record.offset) == ("orders", 1, 1)
    assert (record.key, record.value, record.headers) == (None, b"1", [])
    assert (record.serialized_key_size, record.serialized_value_size) == (-1, 1)
    assert record.serialized_header_size == -1
    assert record.checksum is None


def test_a_poll_is_checked_and_a_closed_consumer_refuses_it(topic: str, consumer_of: Any) -> None:
    consumer = consumer_of(topic)
    with pytest.raises(ValueError, match="negative"):
        consumer.poll(timeout_ms=-1)
    with pytest.raises(TypeError):
        consumer.poll(max_records="1")
    with pytest.raises(ValueError, match="positive"):
        consumer.poll(max_records=0)
    consumer.close()
    with pytest.raises(errors.IllegalStateError):
        consumer.poll()
    assert list(consumer) == []


def test_a_poll_without_a_subscription_returns_nothing(consumer_of: Any) -> None:
    assert consumer_of().poll(timeout_ms=20) == {}


def test_iteration_ends_after_consumer_timeout_ms(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    fill(mock_cluster, 5)
    consumer = consumer_of(consumer_timeout_ms=20)
    consumer.assign([ORDERS[0]])
    read(consumer, 5)
    consumer.seek(ORDERS[0], 2)
    offsets: list[int] = []

    def complete() -> bool:
        offsets.extend(record.offset for record in consumer)
        return len(offsets) >= 3

    wait_until(complete)
    assert offsets == [2, 3, 4]
    with pytest.raises(StopIteration):
        next(consumer)


def test_poll_without_update_offsets_keeps_the_positions(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    fill(mock_cluster, 3)
    consumer = consumer_of()
    consumer.assign([ORDERS[0]])
    assert consumer.poll(timeout_ms=30_000, update_offsets=False)
    assert consumer.position(ORDERS[0]) == 0


class Numbers(Deserializer):
    """Refuses one value."""

    def __init__(self, refused: bytes) -> None:
        self.refused: bytes | None = refused
        self.closed = False

    def deserialize(self, topic: str, headers: Any, data: bytes | None) -> Any:
        if data == self.refused:
            raise ArithmeticError(f"not {data!r}")
        return data and int(data)

    def close(self) -> None:
        self.closed = True


def test_a_record_that_cannot_be_deserialized_is_never_skipped(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    fill(mock_cluster, 4)
    fill(mock_cluster, 2, partition=1)
    numbers = Numbers(b"2")
    consumer = consumer_of(value_deserializer=numbers, enable_auto_commit=False)
    consumer.assign(ORDERS[:2])
    seen: list[tuple[int, int]] = []
    failures = 0

    def twice() -> bool:
        nonlocal failures
        try:
            for records in consumer.poll(timeout_ms=100).values():
                seen.extend((record.partition, record.value) for record in records)
        except ArithmeticError:
            failures += 1
        return failures >= 2 and len(seen) >= 4

    wait_until(twice)
    # The other partition is read to its end, and each record once.
    assert sorted(seen) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert consumer.position(ORDERS[0]) == 2
    consumer.seek(ORDERS[0], 3)
    assert [record.value for record in read(consumer, 1)] == [3]
    consumer.close()
    assert numbers.closed


def test_iteration_raises_until_the_record_can_be_deserialized(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    fill(mock_cluster, 2)
    numbers = Numbers(b"1")
    consumer = consumer_of(value_deserializer=numbers)
    consumer.assign([ORDERS[0]])
    assert next(consumer).value == 0
    for _ in range(2):
        with pytest.raises(ArithmeticError):
            next(consumer)
    numbers.refused = None
    assert next(consumer).value == 1


def test_an_interrupt_in_a_deserializer_loses_no_record(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    # Regression: the positions had moved past all records of the poll.
    def interrupted(data: bytes) -> int:
        if data == b"2" and not interrupts:
            interrupts.append(data)
            raise KeyboardInterrupt
        return int(data)

    interrupts: list[bytes] = []
    fill(mock_cluster, 4)
    with pytest.warns(DeprecationWarning, match="value_deserializer"):
        consumer = consumer_of(value_deserializer=interrupted)
    consumer.assign([ORDERS[0]])
    with pytest.raises(KeyboardInterrupt):
        read(consumer, 4)
    assert [record.value for record in read(consumer, 4)] == [0, 1, 2, 3]


def test_functions_and_older_classes_deserialize(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    class Older:
        def deserialize(self, topic: str, data: bytes) -> str:
            return f"{topic}:{data.decode()}"

    fill(mock_cluster, 1)
    for deserializer, expected in ((int, 0), (Older(), "orders:0")):
        with pytest.warns(DeprecationWarning, match="value_deserializer"):
            consumer = consumer_of(topic, value_deserializer=deserializer)
        assert next(consumer).value == expected
    assert next(consumer_of(topic, value_deserializer=JsonSerializer())).value == 0


def test_the_high_watermark_is_beyond_open_transactions(
    topic: str, consumer_of: Any, producer_of: Any
) -> None:
    # Regression: with read_committed, it was the last stable offset.
    producer = producer_of(transactional_id="t")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"v", partition=0).get(timeout=30)
    consumer = consumer_of(isolation_level="read_committed")
    consumer.assign([ORDERS[0]])
    wait_until(lambda: consumer.poll(timeout_ms=10) or consumer.highwater(ORDERS[0]))
    assert consumer.highwater(ORDERS[0]) == 1
    producer.abort_transaction()


def test_positions_and_pauses(mock_cluster: MockCluster, topic: str, consumer_of: Any) -> None:
    fill(mock_cluster, 10)
    consumer = consumer_of()
    consumer.assign([ORDERS[0]])
    consumer.seek_to_end()
    assert consumer.position(ORDERS[0]) == 10
    consumer.seek_to_beginning(ORDERS[0])
    assert consumer.position(ORDERS[0]) == 0
    assert consumer.highwater(ORDERS[0]) in (None, 10)
    read(consumer, 10)
    assert consumer.highwater(ORDERS[0]) == 10
    consumer.pause(ORDERS[0])
    assert consumer.paused() == {ORDERS[0]}
    consumer.seek(ORDERS[0], 0)
    assert consumer.poll(timeout_ms=20) == {}
    consumer.resume(ORDERS[0])
    assert read(consumer, 10)[0].offset == 0
    with pytest.raises(ValueError, match="Unassigned"):
        consumer.seek(ORDERS[1], 0)
    with pytest.raises(ValueError, match="Unassigned"):
        consumer.seek_to_end(ORDERS[1])
    with pytest.raises(errors.IllegalStateError):
        consumer.position(ORDERS[1])
    with pytest.raises(TypeError):
        consumer.pause(("orders", 0))


def test_lookups(mock_cluster: MockCluster, topic: str, consumer_of: Any) -> None:
    fill(mock_cluster, 3)
    consumer = consumer_of()
    assert consumer.topics() == {"orders"}
    assert consumer.partitions_for_topic("orders") == {0, 1, 2}
    assert consumer.partitions_for_topic("missing") == set()
    assert consumer.beginning_offsets(ORDERS[:1]) == {ORDERS[0]: 0}
    assert consumer.end_offsets(ORDERS[:2]) == {ORDERS[0]: 3, ORDERS[1]: 0}
    assert consumer.end_offsets([]) == {} == consumer.offsets_for_times({})
    found = consumer.offsets_for_times({ORDERS[0]: 0, ORDERS[1]: 0})
    assert found[ORDERS[0]].offset == 0
    assert found[ORDERS[1]] is None
    with pytest.raises(ValueError, match="negative"):
        consumer.offsets_for_times({ORDERS[0]: -1})
    with pytest.raises(errors.KafkaTimeoutError):
        consumer.offsets_for_times({TopicPartition("orders", 9): 0}, timeout_ms=10)
    assert consumer.bootstrap_connected()
    assert consumer.metrics()["consumer-metrics"]["request-total"] > 0
    assert len(consumer._client.cluster.brokers()) == 3
