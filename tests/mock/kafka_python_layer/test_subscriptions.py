"""Subscriptions of the layer: listeners, patterns, and reading without a group."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ottla.compat.kafka import (
    AsyncConsumerRebalanceListener,
    ConsumerRebalanceListener,
    TopicPartition,
    errors,
)
from ottla.compat.kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from ottla.testing import MockCluster
from tests.support.waiting import wait_until

ORDERS = {TopicPartition("orders", partition) for partition in range(3)}


class Recorder(ConsumerRebalanceListener):
    """Records the calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, set[TopicPartition]]] = []

    def on_partitions_revoked(self, revoked: Any) -> None:
        self.calls.append(("revoked", set(revoked)))

    def on_partitions_assigned(self, assigned: Any) -> None:
        self.calls.append(("assigned", set(assigned)))


def join(*consumers: Any) -> None:
    """Poll until the consumers own all partitions, and each some."""

    def joined() -> bool:
        for consumer in consumers:
            consumer.poll(timeout_ms=10)
        owned = [consumer.assignment() for consumer in consumers]
        return all(owned) and set().union(*owned) == ORDERS and sum(map(len, owned)) == 3

    wait_until(joined)


def test_a_listener_sees_whole_assignments(topic: str, consumer_of: Any) -> None:
    recorder = Recorder()
    first = consumer_of(group_id="g")
    first.subscribe([topic], listener=recorder)
    join(first)
    assert recorder.calls == [("revoked", set()), ("assigned", ORDERS)]
    second = consumer_of(topic, group_id="g")
    join(first, second)
    assert recorder.calls[2] == ("revoked", ORDERS)
    assert recorder.calls[3] == ("assigned", first.assignment())
    owned = first.assignment()
    first.close()
    assert recorder.calls[4:] == [("revoked", owned)]


def test_a_cooperative_listener_sees_changes_alone(topic: str, consumer_of: Any) -> None:
    recorder = Recorder()
    cooperative = {"partition_assignment_strategy": [CooperativeStickyAssignor]}
    first = consumer_of(group_id="g", **cooperative)
    first.subscribe([topic], listener=recorder)
    join(first)
    second = consumer_of(topic, group_id="g", **cooperative)
    join(first, second)
    assert recorder.calls == [("assigned", ORDERS), ("revoked", ORDERS - first.assignment())]


def test_a_listener_of_coroutines(topic: str, consumer_of: Any) -> None:
    class Coroutines(AsyncConsumerRebalanceListener):
        assigned: Any = None

        async def on_partitions_revoked(self, revoked: Any) -> None:
            pass

        async def on_partitions_assigned(self, assigned: Any) -> None:
            self.assigned = set(assigned)

    listener = Coroutines()
    consumer = consumer_of(group_id="g")
    consumer.subscribe([topic], listener=listener)
    join(consumer)
    assert listener.assigned == ORDERS


def test_a_poll_raises_what_a_listener_raises(topic: str, consumer_of: Any) -> None:
    class Failing(Recorder):
        def on_partitions_assigned(self, assigned: Any) -> None:
            raise ArithmeticError("in the listener")

    consumer = consumer_of(group_id="g")
    consumer.subscribe([topic], listener=Failing())
    with pytest.raises(errors.KafkaError, match="rebalance callback") as raised:
        wait_until(lambda: consumer.poll(timeout_ms=100) and None)
    assert isinstance(raised.value.__cause__, ArithmeticError)


@pytest.mark.parametrize("group", [None, "g"])
def test_a_pattern_matches_the_beginning_of_names(
    mock_cluster: MockCluster, topic: str, consumer_of: Any, group: str | None
) -> None:
    mock_cluster.create_topic("old-orders")
    mock_cluster.create_topic("order")
    consumer = consumer_of(group_id=group, metadata_max_age_ms=10)
    consumer.subscribe(pattern="(?P<name>orders?)")
    assert consumer.subscription() == set()
    wait_until(lambda: consumer.poll(timeout_ms=10) or len(consumer.assignment()) == 4)
    assert consumer.subscription() == {"order", "orders"}
    mock_cluster.create_topic("orders-2")
    wait_until(lambda: consumer.poll(timeout_ms=10) or len(consumer.assignment()) == 5)
    assert consumer.subscription() == {"order", "orders", "orders-2"}


def test_the_flags_of_a_compiled_pattern_count(topic: str, consumer_of: Any) -> None:
    consumer = consumer_of()
    consumer.subscribe(
        pattern=re.compile("ORD # case does not matter\n", re.IGNORECASE | re.VERBOSE)
    )
    wait_until(lambda: consumer.poll(timeout_ms=10) or consumer.assignment() == ORDERS)
    assert consumer.subscription() == {"orders"}
    with pytest.raises(re.error):
        consumer.subscribe(pattern="(")
    # Python's syntax has a little that the core's engine does not know.
    with pytest.raises(errors.KafkaConfigurationError):
        consumer.subscribe(pattern="(?a)orders")
    assert consumer.subscription() == {"orders"}


def test_without_a_group_all_partitions_are_read_and_new_ones_too(
    mock_cluster: MockCluster, topic: str, consumer_of: Any
) -> None:
    for partition in range(3):
        mock_cluster.append("orders", partition, [b"first"])
    consumer = consumer_of(
        "orders", "later", metadata_max_age_ms=10, allow_auto_create_topics=False
    )
    seen: list[tuple[str, int, bytes]] = []

    def read(count: int) -> bool:
        for records in consumer.poll(timeout_ms=10).values():
            seen.extend((record.topic, record.partition, record.value) for record in records)
        return len(seen) >= count

    wait_until(lambda: read(3))
    assert consumer.assignment() == ORDERS
    mock_cluster.create_topic("later")
    mock_cluster.append("later", 0, [b"second"])
    wait_until(lambda: read(4))
    assert sorted(seen) == [
        ("later", 0, b"second"),
        *(("orders", partition, b"first") for partition in range(3)),
    ]
    assert (
        mock_cluster.request_count("JoinGroup") == 0 == mock_cluster.request_count("OffsetCommit")
    )


def test_one_way_to_subscribe_excludes_the_others(topic: str, consumer_of: Any) -> None:
    for group in (None, "g"):
        consumer = consumer_of(topic, group_id=group)
        with pytest.raises(errors.IllegalStateError):
            consumer.assign(ORDERS)
        with pytest.raises(errors.IllegalStateError):
            consumer.subscribe(pattern="o")
        consumer.unsubscribe()
        assert consumer.subscription() is None
        consumer.assign(ORDERS)
        with pytest.raises(errors.IllegalStateError):
            consumer.subscribe([topic])
        consumer.assign([])
        assert consumer.assignment() == set()


def test_arguments_of_subscribe_are_checked(consumer_of: Any) -> None:
    consumer = consumer_of()
    with pytest.raises(TypeError):
        consumer.subscribe("orders")
    with pytest.raises(TypeError):
        consumer.subscribe(["orders"], listener=object())
    with pytest.raises(ValueError, match="topics or pattern"):
        consumer.subscribe()
    with pytest.raises(errors.IllegalStateError):
        consumer.subscribe(["orders"], pattern="o")
    for name in ("", ".", "a b", "a" * 250):
        with pytest.raises(ValueError, match="Topic name"):
            consumer.subscribe([name])
