"""Checks of the calls about topics, configurations and offsets."""

from __future__ import annotations

import ottla
from ottla import errors
from ottla.admin import ConfigResource, NewTopic
from tests.compat.admin_checks.world import World
from tests.support.kafka_admin import wait_until


def create_topic(world: World) -> None:
    name = world.new_name()
    world.admin.create_topic(name, 2, 1)
    assert len(world.admin.describe_topics([name])[name].partitions) == 2
    world.admin.delete_topic(name)


def delete_topic(world: World) -> None:
    name = world.new_topic()
    world.admin.delete_topic(name)
    wait_until(
        lambda: name not in {each.name for each in world.admin.list_topics()},
        lambda: "the topic is gone",
    )


def create_topics(world: World) -> None:
    names = [world.new_name(), world.new_name()]
    topics = [NewTopic(name, 1, 1, configs={"retention.ms": "1000"}) for name in names]
    assert len(world.admin.create_topics(topics, dry_run=True)) == 2
    assert world.admin.create_topics(topics) == dict.fromkeys(names)
    assert world.admin.delete_topics(names) == dict.fromkeys(names)


def delete_topics(world: World) -> None:
    name = world.new_topic()
    assert "1 partition" in str(world.admin.delete_topics([name], dry_run=True))
    missing = world.new_name()
    deleted = world.admin.delete_topics([name, missing], errors="return")
    assert deleted[name] is None
    assert isinstance(deleted[missing], errors.UnknownTopicError)


def delete_topics_by_id(world: World) -> None:
    name = world.new_topic()
    topic_id = world.admin.describe_topics([name])[name].topic_id
    assert topic_id is not None
    assert world.admin.delete_topics(ids=[topic_id]) == {topic_id: None}


def list_topics(world: World) -> None:
    [listed] = [each for each in world.admin.list_topics() if each.name == world.topic]
    assert (listed.partitions, listed.replicas, listed.under_replicated) == (3, 3, 0)


def describe_topics(world: World) -> None:
    described = world.admin.describe_topics([world.topic], authorized_operations=True)
    topic = described[world.topic]
    assert [sorted(each.replicas) for each in topic.partitions] == [[1, 2, 3]] * 3
    assert "ALTER" in (topic.authorized_operations or ())


def create_partitions(world: World) -> None:
    name = world.new_topic()
    assert "1 -> 3" in str(world.admin.create_partitions({name: 3}, dry_run=True))
    assert world.admin.create_partitions({name: 3}) == {name: None}


def delete_records(world: World) -> None:
    name = world.new_topic()
    with ottla.Producer(world.kafka.bootstrap) as producer:
        for _ in range(3):
            producer.send(name, b"x", partition=0)
    assert world.admin.delete_records({(name, 0): 2}) == {(name, 0): 2}


def list_config_resources(world: World) -> None:
    assert list(world.admin.list_config_resources(["client_metrics"])) == []


def list_all_config_resources(world: World) -> None:
    assert ConfigResource("topic", world.topic) in world.admin.list_config_resources()


def describe_configs(world: World) -> None:
    topic, broker = ConfigResource("topic", world.topic), ConfigResource("broker", "2")
    described = world.admin.describe_configs([topic, broker], documentation=True)
    assert described[topic]["retention.ms"].type == "LONG"
    assert described[topic]["retention.ms"].documentation
    assert described[broker]["broker.rack"].value == "rack-b"


def alter_configs(world: World) -> None:
    topic = ConfigResource("topic", world.new_topic())
    changes = {topic: {"retention.ms": "3600000"}}
    assert "3600000" in str(world.admin.alter_configs(changes, dry_run=True))
    assert world.admin.alter_configs(changes) == {topic: None}
    wait_until(
        lambda: world.admin.describe_configs([topic])[topic]["retention.ms"].value == "3600000",
        lambda: "the value is there",
    )


def list_offsets(world: World) -> None:
    place = world.topic, 0
    assert world.admin.list_offsets({place: "latest"})[place].offset == 10
    assert world.admin.list_offsets({place: 1004})[place].offset == 4


def list_the_largest_timestamp(world: World) -> None:
    place = world.topic, 0
    assert world.admin.list_offsets({place: "max_timestamp"})[place].offset == 9
