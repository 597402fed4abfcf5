"""Members of three clients share one group and join and leave at random: each record is delivered,
and repeated only if it was not committed."""

from __future__ import annotations

import os
import random
import threading
import time
import uuid
from collections.abc import Callable

import pytest

import ottla
from tests.support.group_members import KINDS, DeliveryLog, Group, Member
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.fault, pytest.mark.deep]

TopicFactory = Callable[..., str]
PARTITIONS = 8
SECONDS = float(os.environ.get("OTTLA_GROUP_SECONDS", "20"))
"""How long members join and leave."""
SEED = int(os.environ.get("OTTLA_SEED", "1"))
SLACK = 2.0
"""The maximum delay of a client's report, in seconds."""


def write(bootstrap: str, topic: str, done: threading.Event) -> None:
    """Write steadily to all partitions."""
    with ottla.Producer(bootstrap) as producer:
        number = 0
        while not done.is_set():
            producer.send_batch(topic, [b"%d" % n for n in range(number, number + 50)])
            number += 50
            time.sleep(0.05)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("protocol", "assignor", "clients"),
    [
        ("classic", "range", ["java", "confluent", "ottla"]),
        ("classic", "roundrobin", ["java", "confluent", "ottla"]),
        # librdkafka has no eager sticky assignor.
        ("classic", "sticky", ["java", "ottla"]),
        ("classic", "cooperative-sticky", ["java", "confluent", "ottla"]),
        ("consumer", "uniform", ["java", "confluent", "ottla"]),
    ],
    ids=["range", "roundrobin", "sticky", "cooperative-sticky", "consumer-protocol"],
)
def test_each_record_is_delivered_and_repeated_only_if_not_committed(
    kafka: KafkaCluster, kafka_topic: TopicFactory, protocol: str, assignor: str, clients: list[str]
) -> None:
    topic = kafka_topic(PARTITIONS)
    log = DeliveryLog()
    group = Group(kafka, f"mixed-{uuid.uuid4().hex[:8]}", topic, protocol, assignor, log)
    rng = random.Random(SEED)
    stop = threading.Event()
    writer = threading.Thread(target=write, args=(kafka.bootstrap, topic, stop), daemon=True)
    writer.start()
    created = 0

    def join(kind: str) -> Member:
        nonlocal created
        created += 1
        return KINDS[kind](f"{kind}-{created}", group)

    members = [join(kind) for kind in clients]
    try:
        # Java starts slowly on a slow machine.
        wait_until(
            lambda: log.active_clients() == set(clients),
            lambda: f"only {log.active_clients()} read",
            240,
        )
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(rng.uniform(1.0, 3.0))
            if len(members) > 2 and rng.random() < 0.5:
                members.pop(rng.randrange(len(members))).leave()
            elif len(members) < 6:
                members.append(join(rng.choice(clients)))
        stop.set()
        writer.join(120)
        with ottla.Client(kafka.bootstrap) as client:
            ends = client.list_offsets({(topic, p): "latest" for p in range(PARTITIONS)})
        ends_by_partition = {
            partition: listed.offset or 0 for (_, partition), listed in ends.items()
        }
        deadline = time.monotonic() + 180
        while (missing := log.missing(ends_by_partition)) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert not missing, f"never delivered: {missing} of {ends_by_partition}, members {members}"
    finally:
        stop.set()
        for member in members:
            member.leave()
    repeated = log.repeated_after_commit(SLACK)
    assert not repeated, f"delivered again after the commit: {repeated[:3]}"
    delivered = sum(run.last - run.first + 1 for run in log.delivered)
    total = sum(ends_by_partition.values())
    print(f"{assignor}: {created} members, {total} records, {delivered - total} repeated")
