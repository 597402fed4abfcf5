"""Members and brokers of share groups are killed: no record is stuck, lost, or accepted twice.

The rule of acceptances: a broker confirms an acceptance only once it is stored, and then delivers
the record to no one. So a record may be delivered several times, after a release, an expired lock
or a kill, but never after its first confirmed acceptance. Each delivery has at most one confirmed
acceptance. Two deliveries of one record may both have one: Kafka confirms the late acceptance of an
expired lock if all records up to there have been accepted since, by others.

A record without a confirmed acceptance was accepted all the same if the confirmation was lost: with
a member that was killed while it had the record, or with the connection to a broker that failed,
which the member reports as a failure.
"""

from __future__ import annotations

import os
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator

import pytest

import ottla
from ottla.admin import ConfigResource
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster
from tests.support.share_log import Offset, ShareLog, ShareMember, ShareMembers

pytestmark = [pytest.mark.cluster, pytest.mark.fault, pytest.mark.deep]

TopicFactory = Callable[..., str]
PARTITIONS = 4
SECONDS = float(os.environ.get("OTTLA_GROUP_SECONDS", "20"))
"""How long members are killed."""
SLACK_MS = 500
"""The maximum delay of a report. An acceptance that was not stored would show after a lock, 1 s."""
SEED = int(os.environ.get("OTTLA_SEED", "1"))
CONFIG = {
    "share.auto.offset.reset": "earliest",
    "share.record.lock.duration.ms": "1000",
    # Each kill, expired lock and release is a delivery; after the last one, a record is given up.
    "share.delivery.count.limit": "10",
}


@pytest.fixture
def group(kafka: KafkaCluster) -> str:
    """A share group with short locks."""
    name = f"share-{uuid.uuid4().hex[:8]}"
    with ottla.Admin(kafka.bootstrap) as admin:
        admin.alter_configs({ConfigResource("group", name): CONFIG})
    return name


class Writer:
    """Writes steadily to all partitions, until the end of the block."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._where = bootstrap, topic
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self.written = 0

    def _write(self) -> None:
        bootstrap, topic = self._where
        with ottla.Producer(bootstrap) as producer:
            sent: list[ottla.BatchDelivery] = []
            while not self._stop.wait(0.05):
                rows = [f"{len(sent)}-{n}" for n in range(100)]
                partitions = [n % PARTITIONS for n in range(100)]
                sent.append(producer.send_batch(topic, rows, partitions=partitions))
            self.written = sum(delivery.result(timeout=150) for delivery in sent)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(300)


def every_record(kafka: KafkaCluster, topic: str, written: int) -> set[Offset]:
    """Return the position of every record; the writer confirmed as many."""
    ends = {partition: kafka.end_offset(topic, partition) for partition in range(PARTITIONS)}
    assert sum(ends.values()) == written
    return {(partition, offset) for partition, end in ends.items() for offset in range(end)}


def wait_until_nothing_is_left(kafka: KafkaCluster, group: str, topic: str) -> None:
    """Wait until the group has a lag of 0 in each partition."""
    lags: dict[int, int | None] = {}

    def is_done() -> bool:
        with ottla.Admin(kafka.bootstrap) as admin:
            offsets = admin.list_share_group_offsets([group])[group]
        lags.update({p: offsets[topic, p].lag for p in range(PARTITIONS) if (topic, p) in offsets})
        return lags == dict.fromkeys(range(PARTITIONS), 0)

    wait_until(is_done, lambda: f"records are stuck: the lags are {lags}", 180)


def assert_accepted_once(log: ShareLog, everything: set[Offset], unconfirmed: set[Offset]) -> None:
    """Assert the rule of acceptances; `unconfirmed` may have been accepted without a report."""
    for record in sorted(log.accepted):
        history = log.history(record)
        assert log.accepted[record] <= log.delivered[record], f"{record}: {history}"
        again = log.delivered_at[record] - log.accepted_at[record]
        assert again <= SLACK_MS, (
            f"{record} was delivered {again} ms after its acceptance: {history}"
        )
    assert set(log.delivered) == everything
    lost = everything - set(log.accepted) - unconfirmed
    assert not lost, f"never accepted: {sorted(lost)[:5]} of {len(lost)}"
    print(
        f"{len(everything)} records, {log.delivered.total()} deliveries, "
        f"{len(everything - set(log.accepted))} unconfirmed, {log.failed.total()} refused: "
        f"{log.errors.most_common(3)}"
    )


@pytest.fixture
def members() -> Iterator[list[ShareMember]]:
    """The running members; none outlives its test."""
    running: list[ShareMember] = []
    yield running
    for member in running:
        member.kill()


@pytest.mark.timeout(900)
def test_members_of_ottla_and_java_are_killed(
    kafka: KafkaCluster, kafka_topic: TopicFactory, group: str, members: list[ShareMember]
) -> None:
    topic = kafka_topic(PARTITIONS)
    start = ShareMembers(kafka, group, topic, mishaps=0.03)
    rng = random.Random(SEED)
    kinds = [start.ottla, start.ottla, start.ottla, start.java]
    kills = 0
    with Writer(kafka.bootstrap, topic) as writer:
        members += [kind() for kind in kinds]
        for member in members:
            assert member.has_records.wait(240), f"{member.name} got no records"
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(rng.uniform(0.2, 1.5))
            number = rng.randrange(len(members))
            assert not members[number].ended, members[number].name
            members[number].kill()
            members[number] = kinds[number]()
            # Java starts slowly; it must have had records before its next kill.
            if kinds[number] == start.java:
                assert members[number].has_records.wait(240)
            kills += 1
    wait_until_nothing_is_left(kafka, group, topic)
    while members:
        members.pop().leave()
    everything = every_record(kafka, topic, writer.written)
    print(f"{kills} members were killed")
    assert start.log.errors, "no lock expired"
    assert_accepted_once(start.log, everything, start.log.unreported | set(start.log.failed))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("fault", ["brokers-killed", "leaders-moved"])
def test_brokers_fail_while_members_acknowledge(
    kafka: KafkaCluster,
    kafka_topic: TopicFactory,
    group: str,
    members: list[ShareMember],
    fault: str,
) -> None:
    topic = kafka_topic(PARTITIONS, config={"min.insync.replicas": "2"})
    start = ShareMembers(kafka, group, topic, mishaps=0.0)
    with Writer(kafka.bootstrap, topic) as writer:
        members += [start.ottla() for _ in range(3)]
        for member in members:
            assert member.has_records.wait(240), f"{member.name} got no records"
        if fault == "brokers-killed":
            for broker in kafka.nodes:
                kafka.kill(broker)
                time.sleep(5)
                kafka.restart(broker)
                for partition in range(PARTITIONS):
                    kafka.wait_for_isr(topic, partition, 3)
        else:
            with kafka.moving_leaders([topic], interval=1.0) as moves:
                time.sleep(SECONDS)
            assert len(moves.moves) > PARTITIONS
    wait_until_nothing_is_left(kafka, group, topic)
    assert not any(member.ended for member in members)
    while members:
        members.pop().leave()
    everything = every_record(kafka, topic, writer.written)
    assert_accepted_once(start.log, everything, set(start.log.failed))
