"""Dry runs of Admin's calls: they change nothing, and fail as the calls would; on both clusters."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress

import pytest

import ottla
from ottla import errors
from ottla.admin import CommittedOffset, DeletePassword, SetPassword
from tests.cluster.conftest import Brokers
from tests.cluster.test_admin_groups import member
from tests.support.admins import admin_of_kind
from tests.support.kafka_admin import wait_until

UNKNOWN_PRODUCER = 987_654_322


def new_name() -> str:
    return f"dry-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def admin(admin_kind: str, brokers: Brokers) -> Iterator[ottla.Admin]:
    with admin_of_kind(admin_kind, brokers.bootstrap) as admin:
        yield admin


@pytest.fixture
def topic(brokers: Brokers) -> str:
    """A topic of two partitions with ten records each."""
    name = brokers.create_topic(partitions=2)
    with ottla.Producer(brokers.bootstrap) as producer:
        for number in range(20):
            producer.send(name, str(number), partition=number % 2)
    return name


def test_topics(admin: ottla.Admin, topic: str) -> None:
    name = new_name()
    plan = admin.create_topic(name, 2, 1, {"retention.ms": "-1"}, dry_run=True)
    assert str(plan) == f"create topic {name}: 2 partitions, 1 replica"
    with pytest.raises(errors.TopicExistsError):
        admin.create_topic(topic, dry_run=True)
    assert str(admin.delete_topic(topic, dry_run=True)) == f"delete topic {topic}: 2 partitions"
    with pytest.raises(errors.UnknownTopicError):
        admin.delete_topic(name, dry_run=True)
    names = {each.name for each in admin.list_topics()}
    assert topic in names
    assert name not in names


def test_records(admin: ottla.Admin, brokers: Brokers, topic: str) -> None:
    first, second = (topic, 0), (topic, 1)

    def starts() -> list[int | None]:
        found = admin.list_offsets({first: "earliest", second: "earliest"})
        return [found[each].offset for each in (first, second)]

    plan = admin.delete_records({second: -1, first: 4}, dry_run=True)
    assert str(plan).splitlines() == [
        f"delete records of {topic}-1: at most 10 (0 -> 10)",
        f"delete records of {topic}-0: at most 4 (0 -> 4)",
    ]
    assert starts() == [0, 0]
    admin.delete_records({first: 4})
    assert len(admin.delete_records({first: 3, second: 0}, dry_run=True)) == 0
    [change] = admin.delete_records({first: 6}, dry_run=True)
    assert (change.detail, change.before, change.after) == ("at most 2", "4", "6")
    compacted = brokers.create_topic(config={"cleanup.policy": "compact"})
    for offsets, kind in (
        ({first: 11}, errors.DataLossError),
        ({first: -2}, errors.DataLossError),
        ({(topic, 7): 1}, errors.UnknownTopicError),
        ({(new_name(), 0): 1}, errors.UnknownTopicError),
        ({(compacted, 0): 0}, errors.BrokerError),
    ):
        for dry_run in (True, False):
            with pytest.raises(kind):
                admin.delete_records(offsets, dry_run=dry_run)
    assert starts() == [4, 0]


@pytest.mark.cluster
def test_records_of_internal_topics(admin: ottla.Admin, brokers: Brokers, topic: str) -> None:
    if brokers.is_mock:
        return
    admin.alter_group_offsets(new_name(), {(topic, 0): 1})
    refused = []
    for dry_run in (True, False):
        with pytest.raises(errors.KafkaError) as raised:
            admin.delete_records({("__consumer_offsets", 0): 0}, dry_run=dry_run)
        refused.append(raised.value.name)
    assert refused[0] == refused[1]


def test_offsets_of_groups(admin: ottla.Admin, topic: str) -> None:
    group, first, second = new_name(), (topic, 0), (topic, 1)
    plan = admin.alter_group_offsets(group, {first: 4, second: 99}, dry_run=True)
    assert str(plan).splitlines() == [
        f"alter offset of group {group}: {topic}-0 (none -> 4)",
        f"alter offset of group {group}: {topic}-1 (it has the offsets 0 to 10) (none -> 99)",
    ]
    assert admin.list_group_offsets([group]) == {group: {}}
    with pytest.raises(errors.BrokerError, match="GROUP_ID_NOT_FOUND"):
        admin.delete_group_offsets(group, [first], dry_run=True)
    offsets = {first: CommittedOffset(4), second: CommittedOffset(5, 0, "note")}
    admin.alter_group_offsets(group, offsets)
    plan = admin.alter_group_offsets(group, {first: 4, second: 5}, dry_run=True)
    [change] = plan
    assert (change.before, change.after) == ("5 (leader epoch 0, metadata 'note')", "5")
    plan = admin.delete_group_offsets(group, [first], dry_run=True)
    assert str(plan) == f"delete offset of group {group}: {topic}-0 (4 -> none)"
    assert len(admin.reset_group_offsets(group, "earliest", dry_run=True)) == 2
    for dry_run in (True, False):
        with pytest.raises(errors.UnknownTopicError):
            admin.alter_group_offsets(group, {(topic, 9): 1}, dry_run=dry_run)
        with pytest.raises(errors.UnknownTopicError):
            admin.delete_group_offsets(group, [(topic, 9)], dry_run=dry_run)
    assert admin.list_group_offsets([group])[group] == offsets


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_with_members(
    admin: ottla.Admin, brokers: Brokers, topic: str, protocol: str
) -> None:
    group, first = new_name(), (topic, 0)
    consumer = member(brokers, group, topic, protocol)  # type: ignore[arg-type]
    try:
        [only] = admin.describe_groups([group])[group].members
        assert only.subscribed_topics == [topic]
        before = admin.list_group_offsets([group])
        for dry_run in (True, False):
            with pytest.raises(errors.FencedError, match="active members"):
                admin.alter_group_offsets(group, {first: 0}, dry_run=dry_run)
            with pytest.raises(errors.FencedError, match="active members"):
                admin.reset_group_offsets(group, "earliest", [topic], dry_run=dry_run)
            with pytest.raises(errors.BrokerError, match="GROUP_SUBSCRIBED_TO_TOPIC"):
                admin.delete_group_offsets(group, [first], dry_run=dry_run)
            with pytest.raises(errors.BrokerError, match="UNKNOWN_MEMBER_ID"):
                admin.remove_group_members(group, member_ids=["x"], dry_run=dry_run)
        line = f"remove member {only.member_id} (the-member at {only.host}): {topic} 0-1"
        assert str(admin.remove_group_members(group, dry_run=True)) == line
        named = admin.remove_group_members(group, member_ids=[only.member_id], dry_run=True)
        assert str(named) == line
        assert [each.member_id for each in admin.describe_groups([group])[group].members] == [
            only.member_id
        ]
        assert admin.list_group_offsets([group]) == before
    finally:
        consumer.close()
    assert len(admin.remove_group_members(group, dry_run=True)) == 0
    with pytest.raises(errors.BrokerError, match="GROUP_ID_NOT_FOUND"):
        admin.remove_group_members(new_name(), dry_run=True)


def test_passwords(admin: ottla.Admin) -> None:
    user, secret = new_name(), "a secret"

    def known() -> object:
        found = admin.describe_user_scram_credentials([user], errors="return")[user]
        return None if isinstance(found, errors.KafkaError) else found

    wanted = [SetPassword(secret), SetPassword(secret, iterations=8192)]
    plan = admin.alter_user_scram_credentials({user: wanted}, dry_run=True)
    assert str(plan).splitlines() == [
        f"create password of {user}: SCRAM-SHA-512 (none -> 4096 iterations)",
        f"replace password of {user}: SCRAM-SHA-512 (4096 iterations -> 8192 iterations)",
    ]
    assert secret not in str(plan) + repr(plan)
    assert known() is None
    admin.alter_user_scram_credentials({user: wanted[:1]})
    wait_until(lambda: known() is not None, lambda: "the password is there")
    before = known()
    deletion = DeletePassword("SCRAM-SHA-512")
    plan = admin.alter_user_scram_credentials({user: [deletion]}, dry_run=True)
    line = f"delete password of {user}: SCRAM-SHA-512 (4096 iterations -> none)"
    assert str(plan) == line
    for alterations in (
        {user: [DeletePassword("SCRAM-SHA-256")]},
        {new_name(): [deletion]},
    ):
        for dry_run in (True, False):
            with pytest.raises(errors.BrokerError, match="RESOURCE_NOT_FOUND"):
                admin.alter_user_scram_credentials(alterations, dry_run=dry_run)
    with pytest.raises(errors.ConfigError, match="password is empty"):
        admin.alter_user_scram_credentials({user: [SetPassword("")]}, dry_run=True)
    assert known() == before
    admin.alter_user_scram_credentials({user: [deletion]})


def test_transactions(admin: ottla.Admin, brokers: Brokers, topic: str) -> None:
    name, unknown = new_name(), new_name()
    producer = ottla.Producer(brokers.bootstrap, transactional_id=name)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"open", partition=1).result(timeout=60)
    prepared = producer.prepare_transaction()
    assert prepared is not None
    before = admin.describe_transactions([name])
    try:
        plan = admin.fence_producers([name, unknown], dry_run=True)
        fenced, created = map(str, plan)
        assert fenced == (
            f"fence transactional id {name}: producer id {prepared.producer_id}, aborts its "
            f"transaction in {topic} 1 (epoch {prepared.producer_epoch} -> a newer epoch)"
        )
        assert created == f"create transactional id {unknown}: its coordinator does not know it"
        plan = admin.end_prepared_transactions([prepared], commit=True, dry_run=True)
        line = f"commit transaction of {name}: {topic} 1 (Ongoing -> CompleteCommit)"
        assert str(plan) == line
        with pytest.raises(errors.StateError, match=f"{name} knows it"):
            admin.abort_hanging_transaction(topic, 1, 10, dry_run=True)
        assert admin.describe_transactions([name]) == before
        with pytest.raises(errors.BrokerError, match="TRANSACTIONAL_ID_NOT_FOUND"):
            admin.describe_transactions([unknown])

        admin.end_prepared_transactions([prepared], commit=True)
        wait_until(
            lambda: admin.describe_transactions([name])[name].state == "CompleteCommit",
            lambda: "the transaction has ended",
        )
        assert len(admin.end_prepared_transactions([prepared], commit=True, dry_run=True)) == 0
        for dry_run in (True, False):
            with pytest.raises(errors.BrokerError, match="INVALID_TXN_STATE"):
                admin.end_prepared_transactions([prepared], commit=False, dry_run=dry_run)
        admin.fence_producers([name])
        for dry_run in (True, False):
            with pytest.raises(errors.FencedError):
                admin.end_prepared_transactions([prepared], commit=True, dry_run=dry_run)  # type: ignore[call-overload]
    finally:
        with suppress(errors.FencedError):
            producer.close()


def test_a_hanging_transaction(admin: ottla.Admin, brokers: Brokers, topic: str) -> None:
    brokers.leave_transaction_hanging(topic, 0, UNKNOWN_PRODUCER, ["hanging"])
    before = admin.list_open_transactions([topic])
    plan = admin.abort_hanging_transaction(topic, 0, 10, dry_run=True)
    assert str(plan) == (
        f"abort hanging transaction of producer id {UNKNOWN_PRODUCER}: {topic}-0 at offset 10 "
        "(open -> aborted)"
    )
    assert admin.list_open_transactions([topic]) == before
    for dry_run in (True, False):
        with pytest.raises(errors.StateError, match="those that are open start at 10"):
            admin.abort_hanging_transaction(topic, 0, 3, dry_run=dry_run)
    with pytest.raises(errors.UnknownTopicError):
        admin.abort_hanging_transaction(topic, 9, 3, dry_run=True)
    admin.abort_hanging_transaction(topic, 0, 10)
