"""KafkaConsumer of the layer: reading, positions and commits."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.compat.kafka import OffsetAndMetadata, TopicPartition, errors
from ottla.compat.kafka.serializer import Deserializer, JsonSerializer
from ottla.compat.kafka.structs import ConsumerGroupMetadata, MemberState
from ottla.testing import MockCluster
from tests.support.waiting import wait_until

ORDERS = [TopicPartition("orders", partition) for partition in range(3)]


def fill(cluster: MockCluster, count: int, partition: int = 0) -> None:
    """Append records whose values are numbers."""
    cluster.append("orders", partition, [b"%d" % number for number in range(count)])


def read(consumer: Any, count: int) -> list[Any]:
    """Poll until there are so many records."""
    records: list[Any] = []

    def enough() -> bool:
        for some in consumer.poll(timeout_ms=100).values():
            records.extend(some)
        return len(records) >= count

    wait_until(enough)
    return records


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


def test_a_commit_covers_the_records_that_iteration_returned(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    fill(mock_cluster, 10)
    with consumer_of(topic, group_id="g") as consumer:
        for record in consumer:
            if record.offset == 3:
                break
    assert mock_cluster.committed("g")[("orders", 0)] == 4


def test_a_block_that_raises_commits_nothing(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    fill(mock_cluster, 10)

    def process() -> None:
        with consumer_of(topic, group_id="g") as consumer:
            next(consumer)
            raise RuntimeError("processing")

    with pytest.raises(RuntimeError, match="processing"):
        process()
    assert ("orders", 0) not in mock_cluster.committed("g")


def test_close_without_autocommit_commits_nothing(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    fill(mock_cluster, 10)
    consumer = consumer_of(topic, group_id="g")
    next(consumer)
    consumer.close(autocommit=False, timeout_ms=30_000)
    assert ("orders", 0) not in mock_cluster.committed("g")


def test_commits_with_and_without_offsets(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    fill(mock_cluster, 3)
    consumer = consumer_of(topic, group_id="g", enable_auto_commit=False)
    read(consumer, 3)
    assert consumer.committed(ORDERS[0]) is None
    consumer.commit()
    assert consumer.committed(ORDERS[0]) == 3
    consumer.commit({ORDERS[0]: OffsetAndMetadata(1, "note", -1)})
    assert consumer.committed(ORDERS[0], metadata=True) == OffsetAndMetadata(1, "note", -1)
    with pytest.raises(TypeError):
        consumer.commit({ORDERS[0]: 1})
    with pytest.raises(TypeError):
        consumer.committed(("orders", 0))


def test_a_commit_on_a_new_consumer_connects_first(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    consumer = consumer_of(api_version=(2, 0), group_id="g")
    consumer.commit({ORDERS[0]: OffsetAndMetadata(1)}, timeout_ms=30_000)
    assert consumer_of(api_version=(2, 0), group_id="g").committed(ORDERS[0]) == 1


def test_commit_async_reports_to_its_callback_and_its_future(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    fill(mock_cluster, 3)
    consumer = consumer_of(topic, group_id="g", enable_auto_commit=False)
    read(consumer, 3)
    calls: list[Any] = []
    future = consumer.commit_async(callback=lambda *arguments: calls.append(arguments))

    def polled() -> bool:
        consumer.poll(timeout_ms=10)
        return bool(future.is_done)

    wait_until(polled)
    assert future.succeeded()
    [(offsets, response)] = calls
    assert offsets[ORDERS[0]].offset == 3
    assert response is True


def test_automatic_commits_are_reported_to_the_default_callback(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    fill(mock_cluster, 3)
    calls: list[Any] = []
    consumer = consumer_of(
        topic,
        group_id="g",
        auto_commit_interval_ms=1,
        default_offset_commit_callback=lambda *arguments: calls.append(arguments),
    )
    read(consumer, 3)

    def reported() -> bool:
        consumer.poll(timeout_ms=10)
        # Each commit covers the partitions that have a position by then.
        committed = [offsets[ORDERS[0]].offset for offsets, _ in calls if ORDERS[0] in offsets]
        return 3 in committed

    wait_until(reported)
    assert all(response is True for _, response in calls)


def test_a_consumer_without_a_group_cannot_commit(topic: str, consumer_of: Any) -> None:
    consumer = consumer_of(topic)
    for call in (consumer.commit, consumer.commit_async, lambda: consumer.committed(ORDERS[0])):
        with pytest.raises(errors.IllegalStateError):
            call()
    assert consumer.group_metadata() == ConsumerGroupMetadata()


def test_group_metadata_tells_when_the_group_is_stable(topic: str, consumer_of: Any) -> None:
    consumer = consumer_of(topic, group_id="g")
    assert consumer.group_metadata().state == MemberState.REBALANCING
    wait_until(lambda: consumer.poll(timeout_ms=50) or consumer.assignment())
    metadata = consumer.group_metadata()
    assert (metadata.group_id, metadata.state) == ("g", MemberState.STABLE)
    assert metadata.member_id
    assert consumer._coordinator.state == MemberState.STABLE
    wait_until(lambda: consumer._coordinator.heartbeat.last_receive > float("-inf"))
    heartbeat = consumer._coordinator.heartbeat
    assert not heartbeat.heartbeat_failed
    assert heartbeat.last_send > float("-inf") < heartbeat.last_poll


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
        return failures == 2

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
