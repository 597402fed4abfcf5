"""Admin's calls about groups and their offsets: on the mock and on Kafka.

What changes a real cluster is checked by Kafka's own tools.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Literal, TypeAlias

import pytest

import ottla
from ottla import errors
from ottla.admin import CommittedOffset, Shift
from tests.cluster.conftest import Brokers
from tests.support.admins import admin_of_kind
from tests.support.kafka_cluster import KafkaCluster

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
Protocol: TypeAlias = Literal["classic", "consumer"]

PROTOCOLS: dict[str, Protocol] = {"Classic": "classic", "Consumer": "consumer"}


def new_group() -> str:
    return f"admin-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def admin(admin_kind: str, brokers: Brokers) -> Iterator[ottla.Admin]:
    with admin_of_kind(admin_kind, brokers.bootstrap) as admin:
        yield admin


def fill(brokers: Brokers, partitions: int = 2, count: int = 10) -> str:
    """Return a topic with records in each partition, an hour apart."""
    topic = brokers.create_topic(partitions)
    start = int(time.time() * 1000) - count * 3_600_000
    with ottla.Producer(brokers.bootstrap) as producer:
        for partition in range(partitions):
            for number in range(count):
                at = start + number * 3_600_000
                producer.send(topic, str(number), partition=partition, timestamp=at)
    return topic


def member(brokers: Brokers, group: str, topic: str, protocol: Protocol) -> ottla.Consumer:
    """Return a consumer that has read and committed 10 records."""
    consumer = ottla.Consumer(
        brokers.bootstrap,
        group_id=group,
        group_protocol=protocol,
        client_id="the-member",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    consumer.subscribe([topic])
    read = 0
    deadline = time.monotonic() + 60
    while read < 10:
        assert time.monotonic() < deadline
        read += len(consumer.poll(timeout=1, max_records=10 - read))
    consumer.commit()
    return consumer


@pytest.mark.parametrize("group_type", PROTOCOLS)
def test_groups_are_described_with_members_and_lag(
    admin: ottla.Admin, brokers: Brokers, group_type: str
) -> None:
    topic, group = fill(brokers), new_group()
    consumer = member(brokers, group, topic, PROTOCOLS[group_type])
    listed_type = group_type if brokers.has((3, 8)) else None
    try:
        listed = {each.group_id: each for each in admin.list_groups()}
        assert (listed[group].type, listed[group].state) == (listed_type, "Stable")
        assert group in {each.group_id for each in admin.list_groups(states=["Stable"])}
        assert group not in {each.group_id for each in admin.list_groups(states=["Empty"])}

        described = admin.describe_groups([group])[group]
        assert (described.type, described.state) == (group_type, "Stable")
        [only] = described.members
        assert only.client_id == "the-member"
        assert sorted(only.assignment or []) == [(topic, 0), (topic, 1)]

        lag = admin.group_lag(group)
        assert [(each.topic, each.partition, each.end) for each in lag] == [
            (topic, 0, 10),
            (topic, 1, 10),
        ]
        assert sum((each.end or 0) - (each.committed or 0) for each in lag) == 10
        assert {each.client_id for each in lag} == {"the-member"}
        assert lag.to_arrow().column("lag").to_pylist() == [each.lag for each in lag]

        with pytest.raises(errors.KafkaError) as raised:
            admin.delete_groups([group])
        assert raised.value.name in {"NON_EMPTY_GROUP", "GROUP_NOT_EMPTY"}
        with pytest.raises(errors.FencedError, match="active members"):
            admin.alter_group_offsets(group, {(topic, 0): 0})
    finally:
        consumer.close()
    assert admin.describe_groups([group])[group].members == []
    assert admin.delete_groups([group]) == {group: None}
    assert group not in {each.group_id for each in admin.list_groups()}


def test_unknown_groups(admin: ottla.Admin) -> None:
    missing = new_group()
    results = admin.describe_groups([missing], errors="return")
    assert isinstance(results[missing], errors.BrokerError)
    assert admin.list_group_offsets([missing]) == {missing: {}}
    with pytest.raises(errors.BrokerError, match="GROUP_ID_NOT_FOUND"):
        admin.delete_groups([missing])
    with pytest.raises(errors.BrokerError):
        admin.group_lag(missing)


def test_offsets_are_altered_reset_and_deleted(admin: ottla.Admin, brokers: Brokers) -> None:
    topic, group = fill(brokers), new_group()
    first, second = (topic, 0), (topic, 1)
    altered = admin.alter_group_offsets(group, {first: 4, second: CommittedOffset(5, 0, "note")})
    assert altered == {first: None, second: None}
    committed = admin.list_group_offsets([group])[group]
    assert committed == {first: CommittedOffset(4), second: CommittedOffset(5, 0, "note")}
    assert [each.lag for each in admin.group_lag(group)] == [6, 5]

    def offsets() -> list[int]:
        return [each.offset for _, each in sorted(admin.list_group_offsets([group])[group].items())]

    plan = admin.reset_group_offsets(group, "earliest", dry_run=True)
    assert [(each.before, each.after) for each in plan] == [("4", "0"), ("5", "0")]
    assert offsets() == [4, 5]
    now = datetime.now(timezone.utc)
    for target, expected in (
        ("earliest", [0, 0]),
        ("latest", [10, 10]),
        (Shift(-3), [7, 7]),
        (Shift(99), [10, 10]),
        (2, [2, 2]),
        (now - timedelta(hours=4, minutes=30), [6, 6]),
        (timedelta(hours=4, minutes=30), [6, 6]),
        (now + timedelta(days=1), [10, 10]),
    ):
        admin.reset_group_offsets(group, target)  # type: ignore[arg-type]  # of several types
        assert offsets() == expected, target
    admin.reset_group_offsets(group, "earliest", [first])
    assert offsets() == [0, 10]
    with pytest.raises(errors.ConfigError):
        admin.reset_group_offsets(group, "yesterday")  # type: ignore[arg-type]

    assert admin.delete_group_offsets(group, [first]) == {first: None}
    assert set(admin.list_group_offsets([group])[group]) == {second}
    refused = admin.alter_group_offsets(group, {(topic, 9): 1}, errors="return", timeout=10)
    assert isinstance(refused[topic, 9], errors.UnknownTopicError)


def test_members_are_removed(admin: ottla.Admin, brokers: Brokers) -> None:
    topic, group = fill(brokers), new_group()
    consumer = member(brokers, group, topic, "classic")
    try:
        [only] = admin.describe_groups([group])[group].members
        removed = admin.remove_group_members(group, member_ids=[only.member_id], reason="a test")
        assert removed == {only.member_id: None}
        assert only.member_id not in {
            each.member_id for each in admin.describe_groups([group])[group].members
        }
        again = admin.remove_group_members(group, member_ids=[only.member_id], errors="return")
        assert isinstance(again[only.member_id], errors.KafkaError)
    finally:
        consumer.close()


@pytest.mark.cluster
@pytest.mark.parametrize("kind", ["sync", "asyncio"])
def test_offsets_and_lag_as_kafkas_tool_shows_them(kafka: KafkaCluster, kind: str) -> None:
    brokers = Brokers(kafka)
    topic, group = fill(brokers), new_group()
    with admin_of_kind(kind, kafka.bootstrap) as admin:
        admin.alter_group_offsets(group, {(topic, 0): 4, (topic, 1): 5})
        lag = admin.group_lag(group)
        arguments = ("--bootstrap-server", kafka.bootstrap, "--describe", "--group", group)
        shown = kafka.run_tool(GROUPS, *arguments)
        for each in lag:
            line = rf"{topic}\s+{each.partition}\s+{each.committed}\s+{each.end}\s+{each.lag}\s"
            assert re.search(line, shown), shown
        oldest = [each.lag_ms or 0 for each in lag]
        # Records are an hour apart; the next ones to read are 6 and 5 hours old.
        assert [round(each / 3_600_000) for each in oldest] == [6, 5]
