"""Members of three clients share one group while they come and go at random: each record is given
to somebody, and again only where it had not been committed."""

from __future__ import annotations

import os
import random
import threading
import time
import uuid
from collections.abc import Callable

import pytest

import ottla
from tests.support.group_members import KINDS, Group, Ledger, Member
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.fault, pytest.mark.deep]

TopicFactory = Callable[..., str]
PARTITIONS = 8
SECONDS = float(os.environ.get("OTTLA_GROUP_SECONDS", "20"))
"""How long members come and go."""
SEED = int(os.environ.get("OTTLA_SEED", "1"))
SLACK = 2.0
"""What a client tells may reach the ledger so much later, in seconds."""


def write(bootstrap: str, topic: str, done: threading.Event) -> None:
    """A steady trickle into all partitions."""
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
def test_each_record_is_given_and_again_only_where_it_was_not_committed(
    kafka: KafkaCluster, kafka_topic: TopicFactory, protocol: str, assignor: str, clients: list[str]
) -> None:
    topic = kafka_topic(PARTITIONS)
    ledger = Ledger()
    group = Group(kafka, f"mixed-{uuid.uuid4().hex[:8]}", topic, protocol, assignor, ledger)
    chance = random.Random(SEED)
    stop = threading.Event()
    writer = threading.Thread(target=write, args=(kafka.bootstrap, topic, stop), daemon=True)
    writer.start()
    made = 0

    def join(kind: str) -> Member:
        nonlocal made
        made += 1
        return KINDS[kind](f"{kind}-{made}", group)

    members = [join(kind) for kind in clients]
    try:
        # A slow machine takes its time to start Java.
        wait_until(lambda: ledger.busy() == set(clients), lambda: f"only {ledger.busy()} read", 240)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(chance.uniform(1.0, 3.0))
            if len(members) > 2 and chance.random() < 0.5:
                members.pop(chance.randrange(len(members))).leave()
            elif len(members) < 6:
                members.append(join(chance.choice(clients)))
        stop.set()
        writer.join(120)
        with ottla.Client(kafka.bootstrap) as client:
            ends = client.list_offsets({(topic, p): "latest" for p in range(PARTITIONS)})
        wanted = {partition: listed.offset for (_, partition), listed in ends.items()}
        deadline = time.monotonic() + 180
        while (missing := ledger.missing(wanted)) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert not missing, f"never given: {missing} of {wanted}, members {members}"
    finally:
        stop.set()
        for member in members:
            member.leave()
    repeated = ledger.repeated_after_commit(SLACK)
    assert not repeated, f"given again after it was committed: {repeated[:3]}"
    given = sum(run.last - run.first + 1 for run in ledger.given)
    total = sum(wanted.values())
    print(f"{assignor}: {made} members, {total} records, {given - total} given twice")
