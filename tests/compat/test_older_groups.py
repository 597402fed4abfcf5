"""Groups on older Kafka: classic members share partitions and hand them over, offsets are kept, and
before 4.0 the KIP-848 protocol is rejected with a clear message."""

from __future__ import annotations

import time
from typing import Any

import pytest

import ottla
from ottla import errors
from tests.cluster.conftest import Brokers
from tests.support import kafka_releases
from tests.support.consumers import KINDS, positions_of, read
from tests.support.group_offsets import group_offsets

pytestmark = pytest.mark.cluster

TIMEOUT = 120.0


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """Provide the consumer class."""
    return KINDS[request.param]


def fill(brokers: Brokers, topic: str, numbers: range) -> None:
    """Write numbers as values to each of three partitions."""
    with ottla.Producer(brokers.bootstrap) as producer:
        for partition in range(3):
            for number in numbers:
                producer.send(topic, str(number), partition=partition)


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_members_share_hand_over_and_repeat_nothing(
    brokers: Brokers, kind: Any, assignor: str
) -> None:
    topic = brokers.create_topic(partitions=3)
    everything = [(topic, partition) for partition in range(3)]
    group = f"group-of-{topic}"
    config = {
        "topics": [topic],
        "group_id": group,
        "partition_assignment_strategy": assignor,
        "auto_offset_reset": "earliest",
        "heartbeat_interval_ms": 500,
    }
    seen: list[tuple[int, int]] = []

    def until_shared(*members: Any) -> None:
        deadline = time.monotonic() + TIMEOUT
        while sorted(p for member in members for p in member.assignment()) != everything or not all(
            member.assignment() for member in members
        ):
            assert time.monotonic() < deadline, [member.assignment() for member in members]
            for member in members:
                seen.extend(positions_of(member.poll(timeout=0.1)))

    def until_seen(count: int, *members: Any) -> None:
        deadline = time.monotonic() + TIMEOUT
        while len(seen) < count:
            assert time.monotonic() < deadline, f"{len(seen)} of {count} records arrived"
            for member in members:
                seen.extend(positions_of(member.poll(timeout=0.1)))

    fill(brokers, topic, range(10))
    with kind(brokers.bootstrap, **config) as first:
        until_shared(first)
        until_seen(30, first)
        with kind(brokers.bootstrap, **config) as second:
            until_shared(first, second)
            fill(brokers, topic, range(10, 20))
            until_seen(60, first, second)
        until_shared(first)
        fill(brokers, topic, range(20, 30))
        until_seen(90, first)
    # Each record once: offsets are committed before a partition moves.
    assert sorted(seen) == [(partition, n) for partition in range(3) for n in range(30)]
    with ottla.Admin(brokers.bootstrap) as admin:
        offsets = group_offsets(admin, group)
    assert set(offsets.values()) == {30}


def test_offsets_are_kept_with_their_metadata(brokers: Brokers, kind: Any) -> None:
    topic = brokers.create_topic(partitions=3)
    fill(brokers, topic, range(10))
    config = {
        "group_id": f"group-of-{topic}",
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
    }
    kept = ottla.OffsetAndMetadata(5, "half of it", 0)
    with kind(brokers.bootstrap, topics=[topic], **config) as consumer:
        read(consumer, 30)
        consumer.commit({(topic, 0): 3, (topic, 1): kept})
        assert consumer.committed() == {
            (topic, 0): ottla.OffsetAndMetadata(3),
            (topic, 1): kept,
            (topic, 2): None,
        }
    with kind(brokers.bootstrap, topics=[topic], **config) as consumer:
        found = positions_of(read(consumer, 22))
        assert sorted(found) == [
            (partition, n) for partition, first in enumerate((3, 5, 0)) for n in range(first, 10)
        ]


def test_a_static_member_returns_to_its_partitions(brokers: Brokers, kind: Any) -> None:
    topic = brokers.create_topic(partitions=3)
    config = {
        "topics": [topic],
        "group_id": f"group-of-{topic}",
        "group_instance_id": "i",
        "partition_assignment_strategy": "range",
    }
    generations = []
    for _ in range(2):
        with kind(brokers.bootstrap, **config) as consumer:
            deadline = time.monotonic() + TIMEOUT
            while len(consumer.assignment()) < 3:
                assert time.monotonic() < deadline
                consumer.poll(timeout=0.1)
            generations.append(consumer.group_metadata().generation)
    assert generations[0] == generations[1], "without a rebalance"


def test_the_newer_protocol_is_rejected_with_a_clear_message(brokers: Brokers, kind: Any) -> None:
    topic = brokers.create_topic()
    config = {"group_id": f"group-of-{topic}", "group_protocol": "consumer", "topics": [topic]}
    with kind(brokers.bootstrap, **config) as consumer:
        if kafka_releases.number(brokers.release) >= (4, 0):
            deadline = time.monotonic() + TIMEOUT
            while not consumer.assignment():
                assert time.monotonic() < deadline
                consumer.poll(timeout=0.5)
            return
        for _ in range(2):
            with pytest.raises(errors.KafkaError, match=r"set group\.protocol=classic"):
                poll_until_it_raises(consumer)


def poll_until_it_raises(consumer: Any) -> None:
    """Poll until an error is raised, at most `TIMEOUT` seconds."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        consumer.poll(timeout=0.5)
