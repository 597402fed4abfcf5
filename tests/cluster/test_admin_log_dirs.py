"""Admin's calls about log directories, on Kafka; its own tool shows the same."""

from __future__ import annotations

import json

import pytest

import ottla
from ottla import errors
from ottla.admin import LogDirDescription, NewTopic
from tests.conftest import TopicFactory
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_node import KafkaNode

pytestmark = pytest.mark.cluster

TOOL = "org.apache.kafka.tools.LogDirsCommand"


def test_each_broker_moves_its_replicas_or_says_why_not(
    admin: ottla.Admin, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(replication=2)
    there = admin.describe_topics([topic])[topic].partitions[0].replicas
    [elsewhere] = {1, 2, 3} - set(there)
    paths = {broker: found[0].path for broker, found in admin.describe_log_dirs().items()}
    assert paths[1] == kafka.nodes[1].properties["log.dirs"]
    here, without, wrong = (topic, 0, there[0]), (topic, 0, elsewhere), (topic, 0, there[1])
    missing = topic, 7, there[0]
    wanted = {
        here: paths[there[0]],
        without: paths[elsewhere],
        wrong: "/nowhere",
        missing: paths[there[0]],
    }
    results = admin.alter_replica_log_dirs(wanted, errors="return")
    assert list(results) == list(wanted)
    assert results[here] is True
    assert results[without] is False, "the broker will create it there"
    refused = results[wrong]
    assert isinstance(refused, errors.BrokerError)
    assert refused.name == "LOG_DIR_NOT_FOUND"
    assert isinstance(results[missing], errors.UnknownTopicError)

    planned = {here: wanted[here], without: wanted[without]}
    plan = admin.alter_replica_log_dirs(planned, dry_run=True)
    name = f"replica {topic}-0 on broker {elsewhere}"
    assert str(plan) == f"create {name}: once it is assigned (none -> {paths[elsewhere]})"
    for replica in (wrong, missing):
        with pytest.raises(errors.KafkaError) as raised:
            admin.alter_replica_log_dirs({replica: wanted[replica]}, dry_run=True, timeout=20)
        error = results[replica]
        assert isinstance(error, errors.KafkaError)
        assert raised.value.name == error.name


@pytest.mark.deep
def test_a_replica_moves_to_another_directory() -> None:
    def two(node: KafkaNode) -> dict[str, str]:
        return {"log.dirs": f"{node.directory / 'data'},{node.directory / 'more'}"}

    with KafkaCluster(1, two) as kafka, ottla.Admin(kafka.bootstrap) as admin:
        admin.create_topics([NewTopic("moved", 1, 1)])
        with ottla.Producer(kafka.bootstrap) as producer:
            for _ in range(20):
                producer.send("moved", b"x" * 100_000)

        def found() -> dict[str, LogDirDescription]:
            return {
                each.path: each
                for each in admin.describe_log_dirs()[1]
                if any(replica.topic == "moved" for replica in each.replicas)
            }

        [(before, described)] = found().items()
        [size] = [each.size for each in described.replicas if each.topic == "moved"]
        [after] = {str(kafka.nodes[1].directory / each) for each in ("data", "more")} - {before}
        replica = "moved", 0, 1
        plan = admin.alter_replica_log_dirs({replica: after}, dry_run=True)
        moved = f"move replica moved-0 on broker 1: {size:,} bytes ({before} -> {after})"
        assert str(plan) == moved
        assert set(found()) == {before}
        # At a byte a second, the move can be seen.
        broker = ottla.admin.ConfigResource("broker", "1")
        rate = "replica.alter.log.dirs.io.max.bytes.per.second"
        admin.alter_configs({broker: {rate: "1"}})
        assert admin.alter_replica_log_dirs({replica: after}) == {replica: True}
        wait_until(lambda: set(found()) == {before, after}, lambda: f"it moves: {found()}")
        [future] = [each for each in found()[after].replicas if each.topic == "moved"]
        assert future.is_future
        assert admin.alter_replica_log_dirs({replica: after}, dry_run=True) == []
        plan = admin.alter_replica_log_dirs({replica: before}, dry_run=True)
        cancelled = "cancel move of replica moved-0 on broker 1"
        assert str(plan) == f"{cancelled} ({after} -> {before})"
        assert admin.alter_replica_log_dirs({replica: before}) == {replica: True}
        wait_until(lambda: set(found()) == {before}, lambda: f"it stays: {found()}")
        admin.alter_configs({broker: {rate: None}})
        admin.alter_replica_log_dirs({replica: after})
        wait_until(lambda: set(found()) == {after}, lambda: f"it moved: {found()}")
        tool = ("--bootstrap-server", kafka.bootstrap, "--describe", "--topic-list", "moved")
        [line] = [each for each in kafka.run_tool(TOOL, *tool).splitlines() if each[0] == "{"]
        dirs = json.loads(line)["brokers"][0]["logDirs"]
        assert {each["logDir"]: len(each["partitions"]) for each in dirs} == {after: 1, before: 0}
