"""Admin's calls about reassignments, on Kafka; its own tool shows the same."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

import ottla
from ottla import errors
from ottla.admin import ConfigResource, PartitionReassignment
from tests.conftest import TopicFactory
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.cluster

TOOL = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
RECORDS, RECORD_BYTES = 30, 100_000
# A broker fetches this before a throttle takes effect: replica.fetch.max.bytes.
FIRST_FETCH_BYTES = 1_048_576


# The brokers that copy, one for each kind of Admin: a throttle counts the bytes of 11 s.
COPYING = {"sync": 2, "asyncio": 3}


@pytest.fixture
def slow_topic(admin: ottla.Admin, admin_kind: str, kafka: KafkaCluster) -> Iterator[str]:
    """Provide a topic of broker 1 with 3 MB, which another broker copies at a byte per second."""
    topic = f"slow-{uuid.uuid4().hex[:8]}"
    kafka.create_topic_led_by(topic, [1, 1])
    with ottla.Producer(kafka.bootstrap) as producer:
        for _ in range(RECORDS):
            producer.send(topic, b"x" * RECORD_BYTES, partition=0)
    throttled = ConfigResource("topic", topic)
    admin.alter_configs({throttled: {"follower.replication.throttled.replicas": "*"}})
    set_throttle(admin, COPYING[admin_kind], "1")
    yield topic
    set_throttle(admin, COPYING[admin_kind], None)
    kafka.delete_topic(topic)


def set_throttle(admin: ottla.Admin, broker: int, rate: str | None) -> None:
    copying = ConfigResource("broker", str(broker))
    admin.alter_configs({copying: {"follower.replication.throttled.rate": rate}})


def test_replicas_move_and_the_progress_is_shown(
    admin: ottla.Admin, admin_kind: str, kafka: KafkaCluster, slow_topic: str
) -> None:
    moved, grown, to = (slow_topic, 0), (slow_topic, 1), COPYING[admin_kind]
    other = 5 - to
    targets = {moved: [to], grown: [1, other]}
    [leader_dir] = admin.describe_log_dirs([1])[1]
    [size] = [each.size for each in leader_dir.replicas if (each.topic, each.partition) == moved]
    assert size > RECORDS * RECORD_BYTES

    plan = admin.alter_partition_reassignments(targets, dry_run=True)
    assert str(plan).splitlines() == [
        f"reassign partition {slow_topic}-0: copy {size:,} bytes to broker {to} (1 -> {to})",
        f"reassign partition {slow_topic}-1: copy 0 bytes to broker {other} (1 -> 1, {other})",
    ]
    assert admin.list_partition_reassignments() == []
    assert admin.alter_partition_reassignments(targets) == {moved: None, grown: None}

    def progress() -> PartitionReassignment | None:
        return next(iter(admin.list_partition_reassignments([moved, (slow_topic, 9)])), None)

    def is_copying() -> bool:
        found = progress()
        return found is not None and (found.copied_bytes or 0) > FIRST_FETCH_BYTES // 2

    wait_until(is_copying, lambda: f"a third is copied: {progress()}")
    found = progress()
    assert found is not None
    assert (found.topic, found.partition) == moved
    assert (found.adding_replicas, found.removing_replicas) == ([to], [1])
    assert (found.replicas, found.total_bytes) == ([to, 1], size)
    assert found.progress == (found.copied_bytes or 0) / size
    assert 0.1 < found.progress < 0.9
    shown = kafka.run_tool(TOOL, "--bootstrap-server", kafka.bootstrap, "--list")
    assert f"{slow_topic}-0: replicas: {to},1. adding: {to}. removing: 1." in shown
    assert admin.list_partition_reassignments().to_arrow().num_rows >= 1

    # What is copied already need not be copied again.
    again = admin.alter_partition_reassignments({moved: [to, other]}, dry_run=True)
    assert f"bytes to brokers {to}, {other} ({to}, 1 -> {to}, {other})" in str(again)
    assert int(again[0].detail.split()[1].replace(",", "")) < 2 * size - FIRST_FETCH_BYTES // 2

    plan = admin.alter_partition_reassignments({moved: None}, dry_run=True)
    assert str(plan) == f"cancel reassignment of {slow_topic}-0 ({to}, 1 -> 1)"
    assert progress() is not None
    assert admin.alter_partition_reassignments({moved: None}) == {moved: None}
    assert progress() is None
    refused = admin.alter_partition_reassignments({moved: None}, errors="return")[moved]
    assert isinstance(refused, errors.BrokerError)
    assert refused.name == "NO_REASSIGNMENT_IN_PROGRESS"

    admin.alter_partition_reassignments({moved: [to]})
    set_throttle(admin, to, None)
    wait_until(
        lambda: admin.list_partition_reassignments() == [] and kafka.leader_of(slow_topic) == to,
        lambda: f"broker {to} leads: {progress()}",
    )
    replicas = [
        each.replicas for each in admin.describe_topics([slow_topic])[slow_topic].partitions
    ]
    assert replicas == [[to], [1, other]]


def test_wrong_reassignments(admin: ottla.Admin, kafka_topic: TopicFactory) -> None:
    topic = kafka_topic(partitions=2, replication=1)
    [first, second] = [(topic, 0), (topic, 1)]
    wrong = {first: [1, 99], second: None, (topic, 7): [1], (f"{topic}-nowhere", 0): [1]}
    refused = admin.alter_partition_reassignments(wrong, errors="return")
    assert list(refused) == list(wrong)
    assert [error.name for error in refused.values() if error] == [
        "INVALID_REPLICA_ASSIGNMENT",
        "NO_REASSIGNMENT_IN_PROGRESS",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_TOPIC_OR_PARTITION",
    ]
    for place, target in wrong.items():
        error = refused[place]
        assert error is not None
        with pytest.raises(type(error)) as raised:
            admin.alter_partition_reassignments({place: target}, dry_run=True, timeout=20)
        assert raised.value.name == error.name
    for dry_run in (False, True):
        with pytest.raises(errors.BrokerError) as raised:
            admin.alter_partition_reassignments(
                {first: [1, 2]}, allow_replication_factor_change=False, dry_run=dry_run
            )
        assert raised.value.name == "INVALID_REPLICATION_FACTOR"
    for replicas in ([], [1, 1]):
        with pytest.raises(errors.ConfigError, match="each once"):
            admin.alter_partition_reassignments({first: replicas})
