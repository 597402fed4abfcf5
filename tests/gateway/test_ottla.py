"""ottla's groups of both protocols, share groups, transactions and administration, on brokers."""

from __future__ import annotations

import uuid

import pytest

import ottla
from ottla.admin import ConfigResource, NewTopic
from ottla.testing import Gateway
from tests.gateway.records import EXPECTED, RECORDS, in_order
from tests.support.committed import committed_rows
from tests.support.consumers import read
from tests.support.group_offsets import group_offsets
from tests.support.guarded_kafka import GuardedKafka
from tests.support.kafka_releases import OLDEST
from tests.support.waiting import wait_until

_WITHOUT_NEW_GROUPS = (OLDEST, "kafka-3.9")


def _write(bootstrap: str, topic: str) -> None:
    with ottla.Producer(bootstrap, {"max.request.size": 1_000_000}) as producer:
        for key, value in RECORDS:
            producer.send(topic, value, key)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_two_members_of_a_group(
    guarded: GuardedKafka, gateway: Gateway, topic: str, protocol: str
) -> None:
    if protocol == "consumer" and guarded.release in _WITHOUT_NEW_GROUPS:
        pytest.skip("the release has no groups of this protocol by default")
    group = f"group-{uuid.uuid4().hex[:8]}"
    _write(gateway.bootstrap, topic)
    config = {"group.id": group, "group.protocol": protocol, "auto.offset.reset": "earliest"}
    with (
        ottla.Consumer(gateway.bootstrap, config) as one,
        ottla.Consumer(gateway.bootstrap, config) as two,
    ):
        found: list[ottla.Record] = []
        for consumer in (one, two):
            consumer.subscribe([topic])
        while len(found) < len(RECORDS) or not (one.assignment() and two.assignment()):
            for consumer in (one, two):
                found += consumer.poll(timeout=0.1)
                consumer.commit()
    # A rebalance after a commit repeats nothing.
    assert in_order((record.key or b"", record.value or b"") for record in found) == EXPECTED
    with ottla.Admin(gateway.bootstrap) as admin:
        assert sum(group_offsets(admin, group).values()) == len(RECORDS)


def test_a_share_group(guarded: GuardedKafka, gateway: Gateway, topic: str) -> None:
    if guarded.release in _WITHOUT_NEW_GROUPS:
        pytest.skip("the release has no share groups")
    group = f"share-{uuid.uuid4().hex[:8]}"
    with ottla.Admin(gateway.bootstrap) as admin:
        earliest = {"share.auto.offset.reset": "earliest"}
        admin.alter_configs({ConfigResource("group", group): earliest})
    _write(gateway.bootstrap, topic)
    with ottla.ShareConsumer(gateway.bootstrap, group_id=group) as consumer:
        consumer.subscribe([topic])
        found = read(consumer, len(RECORDS))
    assert in_order((record.key or b"", record.value or b"") for record in found) == EXPECTED


@pytest.mark.parametrize("level", [0, 2])
def test_transactions(guarded: GuardedKafka, gateway: Gateway, topic: str, level: int) -> None:
    if level and guarded.release in _WITHOUT_NEW_GROUPS:
        pytest.skip("the release has only the first protocol of transactions")
    if guarded.release not in _WITHOUT_NEW_GROUPS:
        guarded.set_transaction_version(level)
    group = f"group-{uuid.uuid4().hex[:8]}"
    name = f"transactions-{uuid.uuid4().hex[:8]}"
    with ottla.Producer(gateway.bootstrap, transactional_id=name) as producer:
        producer.init_transactions()
        for number in range(6):
            producer.begin_transaction()
            for n in range(100):
                producer.send(topic, b"%d" % (number * 100 + n), partition=n % 6)
            offsets = {(topic, partition): number + 1 for partition in range(6)}
            producer.send_offsets_to_transaction(offsets, ottla.GroupMetadata(group))
            if number % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    expected = [number * 100 + n for number in (0, 2, 4) for n in range(100)]
    for bootstrap in (gateway.bootstrap, guarded.bootstrap):
        rows = committed_rows(bootstrap, topic)
        assert sorted(int(row["value"]) for row in rows) == expected
    with ottla.Admin(gateway.bootstrap) as admin:
        assert set(group_offsets(admin, group).values()) == {5}


def test_administration(guarded: GuardedKafka, gateway: Gateway) -> None:
    name = f"admin-{uuid.uuid4().hex[:8]}"
    resource = ConfigResource("topic", name)
    with ottla.Admin(gateway.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 3, 3)])
        guarded.wait_for_isr(name, 0, 3)
        admin.alter_configs({resource: {"retention.ms": "60000"}})
        # Brokers learn of it one after the other.
        wait_until(
            lambda: admin.describe_configs([resource])[resource]["retention.ms"].value == "60000"
        )
        # Each broker answers for itself.
        assert set(admin.describe_log_dirs()) == {1, 2, 3}
        admin.delete_topics([name])
