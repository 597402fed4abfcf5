"""Commits of the layer, and what it tells about the group."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.compat.kafka import OffsetAndMetadata, errors
from ottla.compat.kafka.structs import ConsumerGroupMetadata, MemberState
from ottla.testing import MockCluster
from tests.mock.kafka_python_layer.reading import ORDERS, fill, read
from tests.support.waiting import wait_until


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


def test_partitions_that_are_no_longer_assigned_are_committed(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    fill(mock_cluster, 3)
    fill(mock_cluster, 3, partition=1)
    consumer = consumer_of(group_id="g")
    consumer.assign([ORDERS[0]])
    next(consumer)
    consumer.assign([ORDERS[1]])
    wait_until(lambda: mock_cluster.committed("g").get(("orders", 0)) == 1)
    next(consumer)
    consumer.assign([])
    wait_until(lambda: mock_cluster.committed("g").get(("orders", 1)) == 1)


def test_a_position_outside_of_the_log(topic: str, consumer_of: Any) -> None:
    consumer = consumer_of(group_id="g", auto_offset_reset="none")
    consumer.assign([ORDERS[0]])
    with pytest.raises(errors.NoOffsetForPartitionError):
        read(consumer, 1)
    consumer.seek(ORDERS[0], 99)
    with pytest.raises(errors.OffsetOutOfRangeError):
        read(consumer, 1)


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
    future = consumer.commit_async({ORDERS[0]: OffsetAndMetadata(1, None)})
    wait_until(lambda: consumer.poll(timeout_ms=10) or future.is_done)
    assert future.succeeded()
    consumer = consumer_of(api_version=(2, 0), group_id="g")
    consumer.commit({ORDERS[1]: OffsetAndMetadata(2)}, timeout_ms=30_000)
    consumer = consumer_of(api_version=(2, 0), group_id="g")
    assert [consumer.committed(each) for each in ORDERS] == [1, 2, None]


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
