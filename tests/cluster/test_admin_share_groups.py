"""Admin's calls about share groups, on Kafka; its own tool shows the same."""

from __future__ import annotations

import re
import uuid

import pytest

import ottla
from ottla import errors
from ottla.admin import ConfigResource, ShareGroupOffset
from tests.conftest import TopicFactory
from tests.support.admins import admin_of_kind
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.cluster

TOOL = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
MEMBER = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
KINDS = ("sync", "asyncio")


def new_group() -> str:
    return f"share-{uuid.uuid4().hex[:12]}"


def fill(kafka: KafkaCluster, topic: str) -> None:
    """Write 10 records to each of two partitions."""
    with ottla.Producer(kafka.bootstrap) as producer:
        for number in range(20):
            producer.send(topic, str(number), partition=number % 2)


def of_tool(kafka: KafkaCluster, *arguments: str) -> str:
    return kafka.run_tool(TOOL, "--bootstrap-server", kafka.bootstrap, *arguments)


def test_offsets_without_members(
    admin: ottla.Admin, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic, group = kafka_topic(partitions=2), new_group()
    fill(kafka, topic)
    first, second, missing = [(topic, partition) for partition in (0, 1, 7)]
    assert admin.list_share_group_offsets([group]) == {group: {}}

    wanted = {second: 99, first: 3}
    plan = admin.alter_share_group_offsets(group, wanted, dry_run=True)
    assert str(plan).splitlines() == [
        f"alter group {group}: {topic}-1 (it has the offsets 0 to 10) (none -> 99)",
        f"alter group {group}: {topic}-0 (none -> 3)",
    ]
    assert admin.list_share_group_offsets([group]) == {group: {}}
    altered = admin.alter_share_group_offsets(group, {missing: 1, **wanted}, errors="return")
    assert list(altered) == [missing, second, first]
    assert isinstance(altered[missing], errors.UnknownTopicError)
    assert altered[first] is altered[second] is None
    admin.alter_share_group_offsets(group, {second: 4})
    plan = admin.alter_share_group_offsets(group, {first: 3, second: 5}, dry_run=True)
    assert str(plan) == f"alter group {group}: {topic}-1 (4 -> 5)"

    offsets = admin.list_share_group_offsets([group])[group]
    assert offsets == {first: ShareGroupOffset(3, 0, 7), second: ShareGroupOffset(4, 0, 6)}
    shown = of_tool(kafka, "--describe", "--group", group, "--offsets")
    for (_, partition), each in offsets.items():
        line = rf"{group}\s+{topic}\s+{partition}\s+{each.start_offset}\s+{each.lag}\s"
        assert re.search(line, shown), shown

    plan = admin.delete_share_group_offsets(group, [topic], dry_run=True)
    assert [(each.before, each.after) for each in plan] == [("3", "none"), ("4", "none")]
    deleted = admin.delete_share_group_offsets(group, [f"{topic}-x", topic], errors="return")
    assert isinstance(deleted[f"{topic}-x"], errors.UnknownTopicError)
    assert deleted[topic] is None
    assert admin.list_share_group_offsets([group]) == {group: {}}
    for dry_run in (True, False):
        with pytest.raises(errors.UnknownTopicError, match="offset"):
            admin.delete_share_group_offsets(group, [topic], dry_run=dry_run)
    assert admin.delete_groups([group]) == {group: None}


def test_a_member(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    """Kafka's own consumer is the member, which both kinds of Admin describe."""
    topic, group = kafka_topic(partitions=2), new_group()
    fill(kafka, topic)
    everything = [(topic, 0), (topic, 1)]
    resource = ConfigResource("group", group)
    arguments = ("--bootstrap-server", kafka.bootstrap, "--topic", topic, "--group", group)
    with ottla.Admin(kafka.bootstrap) as admin:
        admin.alter_configs({resource: {"share.auto.offset.reset": "earliest"}})
        member = kafka.start_tool(MEMBER, *arguments)
        assert member.stdout is not None
        try:
            for _ in range(20):
                member.stdout.readline()
            wait_until(
                lambda: sorted(admin.list_share_group_offsets([group])[group]) == everything,
                lambda: "the group has offsets",
            )
            for kind in KINDS:
                with admin_of_kind(kind, kafka.bootstrap) as either:
                    check_member(either, group, topic)
            shown = of_tool(kafka, "--describe", "--group", group, "--members", "--verbose")
            [described] = admin.describe_groups([group])[group].members
            assert described.member_id in shown
            assert f"{topic}:0,1" in shown
        finally:
            member.terminate()
            member.wait(60)
            member.stdout.close()
        wait_until(
            lambda: admin.describe_groups([group])[group].state == "Empty",
            lambda: "the member has left",
        )
        admin.delete_groups([group])
        admin.alter_configs({resource: {"share.auto.offset.reset": None}})


def check_member(admin: ottla.Admin, group: str, topic: str) -> None:
    assert [each.type for each in admin.list_groups(types=["Share"]) if each.group_id == group]
    described = admin.describe_groups([group], authorized_operations=True)[group]
    assert (described.type, described.state, described.assignor) == ("Share", "Stable", "simple")
    assert described.epoch == described.assignment_epoch is not None
    assert "DELETE" in (described.authorized_operations or ())
    [member] = described.members
    assert member.client_id == "console-share-consumer"
    assert member.subscribed_topics == [topic]
    assert member.assignment == [(topic, 0), (topic, 1)]
    assert (member.target_assignment, member.streams, described.topology) == (None, None, None)
    assert member.epoch == described.epoch
    altered = admin.alter_share_group_offsets(group, {(topic, 0): 0}, errors="return")
    deleted = admin.delete_share_group_offsets(group, [topic], errors="return")
    for error in (altered[topic, 0], deleted[topic]):
        assert isinstance(error, errors.BrokerError)
        assert error.name == "NON_EMPTY_GROUP"
    with pytest.raises(errors.BrokerError, match="NON_EMPTY_GROUP"):
        admin.alter_share_group_offsets(group, {(topic, 0): 0}, dry_run=True)
    with pytest.raises(errors.BrokerError, match="NON_EMPTY_GROUP"):
        admin.delete_share_group_offsets(group, [topic], dry_run=True)
    for dry_run in (True, False):
        with pytest.raises(errors.BrokerError, match="GROUP_ID_NOT_FOUND"):
            admin.alter_group_offsets(group, {(topic, 0): 0}, dry_run=dry_run)
        with pytest.raises(errors.BrokerError, match="GROUP_ID_NOT_FOUND"):
            admin.delete_group_offsets(group, [(topic, 0)], dry_run=dry_run)


def test_a_group_of_consumers_has_no_share_offsets(
    admin: ottla.Admin, kafka_topic: TopicFactory
) -> None:
    topic, group = kafka_topic(), new_group()
    admin.alter_group_offsets(group, {(topic, 0): 0})
    assert admin.list_share_group_offsets([group]) == {group: {}}
    for dry_run in (True, False):
        with pytest.raises(errors.BrokerError, match="is not a share group"):
            admin.alter_share_group_offsets(group, {(topic, 0): 0}, dry_run=dry_run)
        with pytest.raises(errors.BrokerError, match="is not a share group"):
            admin.delete_share_group_offsets(group, [topic], dry_run=dry_run)
    assert admin.list_group_offsets([group])[group][topic, 0].offset == 0
    admin.delete_groups([group])
