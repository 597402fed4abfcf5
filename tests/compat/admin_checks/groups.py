"""Checks of the calls about groups, their offsets and their lag."""

from __future__ import annotations

import time

import pytest

import ottla
from ottla import errors
from ottla.admin import CommittedOffset
from tests.compat.admin_checks.world import World, refused


def list_groups(world: World) -> None:
    group = world.new_group()
    [listed] = [each for each in world.admin.list_groups() if each.group_id == group]
    assert listed.state == "Empty"
    assert listed.type == (None if world.kafka.release == "kafka-2.8" else "Classic")
    if listed.type is None:
        with pytest.raises(errors.ConfigError, match=r"the type of groups, .* Kafka 3\.8"):
            world.admin.list_groups(types=["Share"])
    else:
        assert world.admin.list_groups(types=["Share"]) == []
    world.admin.delete_groups([group])


def member(world: World, group: str) -> ottla.Consumer:
    """Return a consumer that has all partitions of the topic."""
    consumer = ottla.Consumer(
        world.kafka.bootstrap, group_id=group, client_id="the-member", enable_auto_commit=False
    )
    consumer.subscribe([world.topic])
    deadline = time.monotonic() + 60
    while len(consumer.assignment()) < 3:
        assert time.monotonic() < deadline
        consumer.poll(timeout=0.2)
    return consumer


def describe_groups(world: World) -> None:
    group, missing = world.new_name(), world.new_name()
    with member(world, group):
        described = world.admin.describe_groups([group, missing], errors="return")
    found = described[group]
    assert not isinstance(found, errors.KafkaError)
    assert (found.type, found.state) == ("Classic", "Stable")
    [only] = found.members
    assert only.client_id == "the-member"
    assert only.assignment == [(world.topic, partition) for partition in (0, 1, 2)]
    refused = described[missing]
    assert isinstance(refused, errors.BrokerError)
    assert refused.name == "GROUP_ID_NOT_FOUND"
    world.admin.delete_groups([group])


def delete_groups(world: World) -> None:
    group, missing = world.new_group(), world.new_name()
    assert "Empty" in str(world.admin.delete_groups([group], dry_run=True))
    deleted = world.admin.delete_groups([group, missing], errors="return")
    assert deleted[group] is None
    assert isinstance(deleted[missing], errors.BrokerError)


def remove_group_members(world: World) -> None:
    group = world.new_name()
    with member(world, group):
        removed = world.admin.remove_group_members(group, reason="a test")
        assert list(removed.values()) == [None]
    world.admin.delete_groups([group])


def list_group_offsets(world: World) -> None:
    group, missing = world.new_group(), world.new_name()
    listed = world.admin.list_group_offsets([group, missing], require_stable=True)
    assert listed == {group: {(world.topic, 0): CommittedOffset(4)}, missing: {}}
    world.admin.delete_groups([group])


def alter_group_offsets(world: World) -> None:
    group, place = world.new_name(), (world.topic, 1)
    assert world.admin.alter_group_offsets(group, {place: 7}) == {place: None}
    assert world.admin.list_group_offsets([group])[group][place].offset == 7
    world.admin.delete_groups([group])


def delete_group_offsets(world: World) -> None:
    group, place = world.new_group(), (world.topic, 0)
    assert world.admin.delete_group_offsets(group, [place]) == {place: None}
    assert world.admin.list_group_offsets([group]) == {group: {}}


def reset_group_offsets(world: World) -> None:
    group, place = world.new_group(), (world.topic, 0)
    assert "4 -> 10" in str(world.admin.reset_group_offsets(group, "latest", dry_run=True))
    world.admin.reset_group_offsets(group, "latest")
    assert world.admin.list_group_offsets([group])[group][place].offset == 10
    world.admin.delete_groups([group])


def group_lag(world: World) -> None:
    group = world.new_group()
    [lag] = world.admin.group_lag(group)
    assert (lag.committed, lag.end, lag.lag) == (4, 10, 6)
    world.admin.delete_groups([group])


def list_share_group_offsets(world: World) -> None:
    group = world.new_name()
    assert world.admin.list_share_group_offsets([group]) == {group: {}}


def alter_share_group_offsets(world: World) -> None:
    group, place = world.new_name(), (world.topic, 0)
    assert world.admin.alter_share_group_offsets(group, {place: 4}) == {place: None}


def delete_share_group_offsets(world: World) -> None:
    group = world.new_name()
    refused(
        lambda: world.admin.delete_share_group_offsets(group, [world.topic]), "GROUP_ID_NOT_FOUND"
    )
