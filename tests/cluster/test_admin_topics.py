"""Admin's calls about topics, configurations, offsets and brokers: on the mock and on Kafka.

What changes a real cluster is checked by Kafka's own tools.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest

import ottla
from ottla import errors
from ottla.admin import Alteration, Append, ConfigResource, NewTopic, Subtract
from tests.cluster.conftest import Brokers
from tests.support.admins import admin_of_kind
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_releases import ZOOKEEPER_RELEASES

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "org.apache.kafka.tools.ConfigCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"


def new_name() -> str:
    return f"admin-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def admin(admin_kind: str, brokers: Brokers) -> Iterator[ottla.Admin]:
    with admin_of_kind(admin_kind, brokers.bootstrap) as admin:
        yield admin


def of_tool(kafka: KafkaCluster, main: str, *arguments: str) -> str:
    return kafka.run_tool(main, "--bootstrap-server", kafka.bootstrap, *arguments)


def write(brokers: Brokers, topic: str, count: int, partition: int = 0) -> None:
    with ottla.Producer(brokers.bootstrap) as producer:
        for number in range(count):
            producer.send(topic, str(number), partition=partition, timestamp=1000 + number)


def test_topics_are_created_described_and_deleted(admin: ottla.Admin, brokers: Brokers) -> None:
    plain, assigned = new_name(), new_name()
    ids = [broker.id for broker in admin.describe_cluster().brokers]
    spread = [[ids[0], ids[1]], [ids[1], ids[2]]]
    made = admin.create_topics(
        [
            NewTopic(plain, 3, 2, configs={"retention.ms": "3600000"}),
            NewTopic(assigned, assignments=spread),
        ]
    )
    assert made == {plain: None, assigned: None}

    described = admin.describe_topics([plain, assigned])
    assert [each.replicas for each in described[assigned].partitions] == spread
    assert [each.leader for each in described[assigned].partitions] == [ids[0], ids[1]]
    assert [len(each.replicas) for each in described[plain].partitions] == [2] * 3
    listed = {each.name: each for each in admin.list_topics()}
    assert (listed[plain].partitions, listed[plain].replicas) == (3, 2)
    assert listed[plain].topic_id == described[plain].topic_id is not None
    table = admin.list_topics().to_arrow()
    assert plain in table.column("name").to_pylist()

    by_id = [described[assigned].topic_id or ""]
    assert str(admin.delete_topics([plain], ids=by_id, dry_run=True)).splitlines() == [
        f"delete topic {plain}: 3 partitions",
        f"delete topic {assigned}: 2 partitions",
    ]
    deleted = admin.delete_topics([plain], ids=by_id)
    assert list(deleted.values()) == [None, None]
    # Brokers learn of it one after the other.
    wait_until(
        lambda: not {plain, assigned} & {each.name for each in admin.list_topics()},
        lambda: "the topics are gone",
    )


def test_a_dry_run_changes_nothing(admin: ottla.Admin) -> None:
    name = new_name()
    plan = admin.create_topics([NewTopic(name, 3, 1)], dry_run=True)
    assert re.match(f"create topic {name}: 3 partitions", str(plan))
    assert name not in {each.name for each in admin.list_topics()}
    admin.create_topics([NewTopic(name, 3, 1)])
    assert "delete topic" in str(admin.delete_topics([name], dry_run=True))
    assert admin.describe_topics([name])[name].partitions


def test_items_fail_one_by_one(admin: ottla.Admin) -> None:
    name, missing = new_name(), new_name()
    admin.create_topics([NewTopic(name, 1, 1)])
    topics = [NewTopic(name, 1, 1), NewTopic("not legal!", 1, 1), NewTopic(missing, 1, 9)]
    results = admin.create_topics(topics, errors="return")
    assert isinstance(results[name], errors.TopicExistsError)
    assert [type(each) for each in results.values()].count(type(None)) == 0
    described = admin.describe_topics([name, missing], errors="return", timeout=5)
    assert not isinstance(described[name], errors.KafkaError)
    assert isinstance(described[missing], errors.UnknownTopicError)
    with pytest.raises(errors.UnknownTopicError, match=missing):
        admin.describe_topics([name, missing], timeout=5)
    with pytest.raises(errors.UnknownTopicError, match=missing):
        admin.delete_topics([missing], timeout=5)
    with pytest.raises(errors.ConfigError, match="errors"):
        admin.describe_topics([name], errors="ignore")  # type: ignore[call-overload]


def test_offsets_by_every_spec_and_deleted_records(admin: ottla.Admin, brokers: Brokers) -> None:
    topic = brokers.create_topic(partitions=2)
    write(brokers, topic, 10)
    first = topic, 0
    offsets = {
        spec: admin.list_offsets({first: spec})[first].offset
        for spec in ("earliest", "latest", 1004, 5000)
    }
    assert offsets == {"earliest": 0, "latest": 10, 1004: 4, 5000: None}
    at = datetime.fromtimestamp(1.006, timezone.utc)
    assert admin.list_offsets({first: at})[first].timestamp == 1006
    assert admin.list_offsets({(topic, 1): "latest"})[topic, 1].offset == 0

    assert admin.delete_records({first: 4, (topic, 1): 0}) == {first: 4, (topic, 1): 0}
    assert admin.list_offsets({first: "earliest"})[first].offset == 4
    refused = admin.delete_records({first: 99, (topic, 1): -1}, errors="return")
    assert isinstance(refused[first], errors.KafkaError)
    assert refused[topic, 1] == 0
    missing = admin.list_offsets(
        {(topic, 7): "latest", first: "latest"}, errors="return", timeout=5
    )
    assert isinstance(missing[topic, 7], errors.UnknownTopicError)
    assert isinstance(missing[first], ottla.OffsetAndTimestamp)
    with pytest.raises(errors.ConfigError, match="time zone"):
        admin.list_offsets({first: datetime(2026, 1, 1)})  # noqa: DTZ001 - the mistake itself


def test_the_offset_of_the_largest_timestamp(admin: ottla.Admin, brokers: Brokers) -> None:
    topic = brokers.create_topic()
    write(brokers, topic, 10)
    assert admin.list_offsets({(topic, 0): "max_timestamp"})[topic, 0].offset == 9


def test_the_cluster(admin: ottla.Admin, brokers: Brokers) -> None:
    cluster = admin.describe_cluster()
    assert len(cluster.brokers) == 3
    assert cluster.controller in {broker.id for broker in cluster.brokers}
    assert {f"{each.host}:{each.port}" for each in cluster.brokers} >= set(
        brokers.bootstrap.split(",")
    )


def test_configurations(admin: ottla.Admin, brokers: Brokers) -> None:
    topic = new_name()
    admin.create_topics([NewTopic(topic, 1, 1)])
    resource = ConfigResource("topic", topic)
    changes: dict[str, Alteration] = {
        "retention.ms": "86400000",
        "cleanup.policy": Append("compact"),
    }
    plan = admin.alter_configs({resource: changes}, dry_run=True)
    assert len(plan) == 2
    assert "retention.ms" in str(plan)
    before = admin.describe_configs([resource], keys=["retention.ms"])[resource]
    assert before["retention.ms"].is_default
    admin.alter_configs({resource: changes})
    expected = ["retention.ms=86400000", "cleanup.policy=delete,compact"]
    entity = "--describe", "--entity-type", "topics", "--entity-name", topic
    brokers.assert_tool_shows(expected, CONFIGS, *entity)

    def is_altered() -> bool:
        return not admin.describe_configs([resource])[resource]["retention.ms"].is_default

    wait_until(is_altered, lambda: "all brokers know the changes")
    after = admin.describe_configs([resource], documentation=True)[resource]
    assert after["retention.ms"].value == "86400000"
    assert after["retention.ms"].source == "DYNAMIC_TOPIC_CONFIG"
    assert after["retention.ms"].type == "LONG"
    assert bool(after["retention.ms"].documentation) is not brokers.is_mock
    policy = after["cleanup.policy"].synonyms
    assert [(each.name, each.value) for each in policy] == [
        ("cleanup.policy", "delete,compact"),
        ("log.cleanup.policy", "delete"),
    ]
    admin.alter_configs({resource: {"retention.ms": None, "cleanup.policy": Subtract("delete")}})

    def is_reset() -> bool:
        after = admin.describe_configs([resource])[resource]
        return after["retention.ms"].is_default and after["cleanup.policy"].value == "compact"

    wait_until(is_reset, lambda: "all brokers know the changes")
    wrong = {resource: {"retention.ms": "soon"}, ConfigResource("topic", "nowhere"): {"x": "1"}}
    refused = admin.alter_configs(wrong, errors="return", timeout=5)
    names = [each.name for each in refused.values() if isinstance(each, errors.KafkaError)]
    expected = ["INVALID_CONFIG", "INVALID_CONFIG"]
    if brokers.release in ZOOKEEPER_RELEASES:
        # These brokers look for the topic first.
        expected = ["INVALID_REQUEST", "UNKNOWN_TOPIC_OR_PARTITION"]
    assert names == expected


def test_configurations_of_brokers_groups_and_metrics(admin: ottla.Admin, brokers: Brokers) -> None:
    broker = ConfigResource("broker", str(admin.describe_cluster().brokers[0].id))
    all_brokers = ConfigResource("broker", "")
    group, metrics = ConfigResource("group", new_name()), ConfigResource("client_metrics", "m")
    loggers = ConfigResource("broker_logger", broker.name)
    set_values: dict[ConfigResource, dict[str, Alteration]] = {
        broker: {"log.cleaner.threads": "2"},
        all_brokers: {"background.threads": "8"},
        group: {"consumer.session.timeout.ms": "50000"},
        metrics: {"interval.ms": "1000", "match": "client_id=a.*"},
        loggers: {"kafka.server.ControllerServer": "DEBUG"},
    }
    admin.alter_configs(set_values)

    def described(resource: ConfigResource, key: str) -> tuple[str | None, str]:
        entry = admin.describe_configs([resource])[resource].get(key)
        return (entry.value, entry.source) if entry else (None, "")

    expected = {
        (broker, "log.cleaner.threads"): ("2", "DYNAMIC_BROKER_CONFIG"),
        (broker, "background.threads"): ("8", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
        (all_brokers, "background.threads"): ("8", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
        (group, "consumer.session.timeout.ms"): ("50000", "DYNAMIC_GROUP_CONFIG"),
        (metrics, "interval.ms"): ("1000", "DYNAMIC_CLIENT_METRICS_CONFIG"),
        (loggers, "kafka.server.ControllerServer"): ("DEBUG", "DYNAMIC_BROKER_LOGGER_CONFIG"),
    }
    wait_until(
        lambda: {each: described(*each) for each in expected} == expected,
        lambda: str({each: described(*each) for each in expected}),
    )
    wrong: dict[ConfigResource, dict[str, Alteration]] = {
        broker: {"num.partitions": "3"},
        group: {"consumer.session.timeout.ms": "1"},
        metrics: {"no.such.key": "1"},
        loggers: {"kafka.server.ControllerServer": "LOUD"},
    }
    refused = admin.alter_configs(wrong, errors="return", timeout=5)
    names = [each.name for each in refused.values() if isinstance(each, errors.KafkaError)]
    assert names == ["INVALID_REQUEST", "INVALID_CONFIG", "INVALID_REQUEST", "INVALID_CONFIG"]
    admin.alter_configs({each: dict.fromkeys(keys) for each, keys in set_values.items()})
    wait_until(
        lambda: described(broker, "background.threads") == ("10", "DEFAULT_CONFIG"),
        lambda: "the defaults are back",
    )


@pytest.mark.cluster
@pytest.mark.parametrize("kind", ["sync", "asyncio"])
def test_partitions_and_log_directories_as_kafkas_tools_show_them(
    kafka: KafkaCluster, kind: str
) -> None:
    topic = new_name()
    with admin_of_kind(kind, kafka.bootstrap) as admin:
        admin.create_topics([NewTopic(topic, 2, 3)])
        assert "5" in str(admin.create_partitions({topic: 5}, dry_run=True))
        spread = [[3, 1, 2], [1, 2, 3]]
        admin.create_partitions({topic: 4}, assignments={topic: spread})
        wait_until(
            lambda: (
                [each.replicas for each in admin.describe_topics([topic])[topic].partitions[2:]]
                == spread
            ),
            lambda: "the new partitions have the replicas that were chosen",
        )
        admin.create_partitions({topic: 5})
        for refused in (
            admin.create_partitions({topic: 3}, errors="return"),
            admin.create_partitions({topic: 6}, assignments={topic: spread}, errors="return"),
        ):
            assert isinstance(refused[topic], errors.KafkaError)
        shown = of_tool(kafka, TOPICS, "--describe", "--topic", topic)
        assert "PartitionCount: 5" in shown
        described = admin.describe_topics([topic])[topic]
        for each in described.partitions:
            replicas = ",".join(map(str, each.replicas))
            line = rf"Partition: {each.partition}\s+Leader: {each.leader}\s+Replicas: {replicas}\s"
            assert re.search(line, shown), shown
        assert f"TopicId: {described.topic_id}" in shown
        with ottla.Producer(kafka.bootstrap) as producer:
            producer.send(topic, b"x" * 5000, partition=0).result(timeout=30)
        sizes = {
            (log_dir.broker, replica.partition): replica.size
            for log_dirs in admin.describe_log_dirs().values()
            for log_dir in log_dirs
            for replica in log_dir.replicas
            if replica.topic == topic
        }
        assert len(sizes) == 15
        leader = described.partitions[0].leader or 0
        shown = of_tool(kafka, LOG_DIRS, "--describe", "--topic-list", topic)
        assert f'"partition":"{topic}-0","size":{sizes[leader, 0]}' in shown.replace(" ", "")
        assert sizes[leader, 0] > 5000


def test_a_duration_ago_is_a_time(admin: ottla.Admin, brokers: Brokers) -> None:
    topic = brokers.create_topic()
    with ottla.Producer(brokers.bootstrap) as producer:
        producer.send(topic, b"old", timestamp=1000).result(timeout=30)
        producer.send(topic, b"new").result(timeout=30)
    hour_ago = datetime.now(timezone.utc) - timedelta(hours=1)
    assert admin.list_offsets({(topic, 0): hour_ago})[topic, 0].offset == 1
