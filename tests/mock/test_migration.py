"""Migrating from confluent-kafka and kafka-python: configuration and familiar calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster
from tests.support.kafka_admin import wait_until
from tests.support.loops import run

MADE: dict[str, Callable[..., object]] = {
    "Client": ottla.Client,
    "AsyncClient": ottla.AsyncClient,
    "Admin": ottla.Admin,
    "Producer": ottla.Producer,
    "AsyncProducer": ottla.AsyncProducer,
    "Consumer": ottla.Consumer,
    "AsyncConsumer": ottla.AsyncConsumer,
    "scan": lambda *args, **kwargs: ottla.scan("orders", *args, **kwargs),
    "diagnose": ottla.diagnose,
}


@pytest.mark.parametrize("name", MADE)
def test_first_argument_may_be_a_configuration_mapping(
    name: str, mock_cluster: MockCluster, topic: str
) -> None:
    config = {"bootstrap.servers": mock_cluster.bootstrap, "client.id": "from confluent-kafka"}
    made = MADE[name](config, client_rack="rack-a")
    if isinstance(made, ottla.doctor.Report):
        assert made.ok
    assert config == {
        "bootstrap.servers": mock_cluster.bootstrap,
        "client.id": "from confluent-kafka",
    }
    with pytest.raises(errors.ConfigError, match="passed twice"):
        MADE[name](config, {"linger.ms": 5})
    with pytest.raises(errors.ConfigError, match=r"did you mean linger\.ms"):
        MADE[name]({**config, "linger.mss": 5})


def test_a_configuration_mapping_configures_producers_and_consumers(
    mock_cluster: MockCluster, topic: str
) -> None:
    config = {"metadata.broker.list": mock_cluster.bootstrap, "queue.buffering.max.ms": 0}
    with ottla.Producer(config) as producer:
        producer.send(topic, "v", partition=0).result(timeout=30)
    group = {**config, "group.id": "billing", "auto.offset.reset": "smallest"}
    with ottla.Consumer(group, topics=[topic]) as consumer:
        assert next(consumer).value == b"v"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("batch.num.messages", 5, r"librdkafka's: use batch\.size"),
        ("error_cb", print, "calls raise errors"),
        ("on_delivery", print, "pass on_delivery to send"),
        ("stats_cb", print, r"metrics\(\)"),
        ("default.topic.config", {"acks": 1}, "into the configuration itself"),
        ("enable.auto.offset.store", False, r"commit\(record\)"),
        ("value.serializer", str, "as a keyword argument"),
        ("api_version", (2, 8, 0), "leave it out"),
        ("sasl_plain_username", "ann", r"kafka-python's: use sasl\.username"),
        ("ssl_cafile", "ca.pem", r"use ssl\.truststore\.location"),
        ("ssl_certfile", "tls.crt", r"use ssl\.certificate\.location"),
    ],
)
def test_unsupported_keys_name_their_replacement(key: str, value: Any, message: str) -> None:
    with pytest.raises(errors.ConfigError, match=message) as raised:
        ottla.Client({"bootstrap.servers": "127.0.0.1:9", key: value}, connect=False)
    assert key in str(raised.value)


def test_kafka_python_keywords_name_their_replacement() -> None:
    with pytest.raises(errors.ConfigError, match=r"sasl_plain_password.*use sasl\.password") as no:
        ottla.Producer(bootstrap_servers="127.0.0.1:9", sasl_plain_password="hunter2")  # type: ignore[call-arg]
    assert "hunter2" not in str(no.value)
    with pytest.raises(errors.ConfigError, match="consumer as a keyword"):
        ottla.Client("127.0.0.1:9", value_deserializer=bytes)  # type: ignore[call-arg]


def test_aliases_of_a_key_must_agree() -> None:
    config = {"bootstrap.servers": "127.0.0.1:9", "queue.buffering.max.ms": 5}
    with pytest.raises(
        errors.ConfigError, match=r"queue\.buffering\.max\.ms and linger\.ms are two names"
    ):
        ottla.Client({**config, "linger.ms": 6}, connect=False)
    ottla.Client({**config, "linger.ms": "5"}, connect=False).close()


def test_commit_a_processed_record(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.append(topic, 1, [b"a", b"b", b"c"])
    config = {"bootstrap.servers": mock_cluster.bootstrap, "group.id": "billing"}
    keywords: dict[str, Any] = {"enable_auto_commit": False, "auto_offset_reset": "earliest"}
    with ottla.Consumer(config, topics=[topic], **keywords) as consumer:
        first, second, third = (next(consumer) for _ in range(3))
        assert first.leader_epoch >= 0
        consumer.commit(second)
        expected = ottla.OffsetAndMetadata(2, leader_epoch=second.leader_epoch)
        assert consumer.committed((topic, 1)) == {(topic, 1): expected}
        calls: list[tuple[object, object]] = []
        consumer.commit_async(third, lambda error, offsets: calls.append((error, offsets)))
        consumer.commit(first)  # commits are sent in order
        after = ottla.OffsetAndMetadata(3, leader_epoch=third.leader_epoch)
        wait_until(
            lambda: bool(consumer.poll(timeout=0) or calls), lambda: "the callback was not called"
        )
        assert calls == [(None, {(topic, 1): after})]
        assert mock_cluster.committed("billing") == {(topic, 1): 1}
        for wrong in ([first], first.offset, "orders"):
            with pytest.raises(TypeError, match="expected a record, or offsets by partition"):
                consumer.commit(wrong)  # type: ignore[arg-type]


def test_commit_a_processed_record_with_asyncio(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.append(topic, 1, [b"a", b"b"])

    async def main() -> None:
        config = {"bootstrap.servers": mock_cluster.bootstrap, "group.id": "billing"}
        keywords: dict[str, Any] = {"enable_auto_commit": False, "auto_offset_reset": "earliest"}
        async with ottla.AsyncConsumer(config, topics=[topic], **keywords) as consumer:
            async for record in consumer:
                if record.value == b"a":
                    await consumer.commit(record)
                    assert mock_cluster.committed("billing") == {(topic, 1): 1}
                else:
                    consumer.commit_async(record)
                    break

    run(main())
    assert mock_cluster.committed("billing") == {(topic, 1): 2}


def test_topics_and_partitions_are_listed(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.create_topic("clicks", partitions=1)
    with (
        ottla.Client(mock_cluster.bootstrap) as client,
        ottla.Consumer(client) as consumer,
        ottla.Producer(client) as producer,
    ):
        assert consumer.topic_names(timeout=30) == ["clicks", "orders"]
        for one in (client, consumer, producer):
            found = one.partitions_for(topic)
            assert set(found) == {0, 1, 2}
            assert {p.leader for p in found.values()} == {1, 2, 3}
            began = time.monotonic()
            with pytest.raises(errors.UnknownTopicError, match=r"did you mean orders\?"):
                one.partitions_for("ordres")
            assert time.monotonic() - began < 30
        assert client.topic_names() == ["clicks", "orders"], "the lookup created a topic"
    with pytest.raises(errors.ClosedError):
        consumer.topic_names()


def test_topics_and_partitions_are_listed_with_asyncio(
    mock_cluster: MockCluster, topic: str
) -> None:
    async def main() -> None:
        async with (
            ottla.AsyncClient(mock_cluster.bootstrap) as client,
            ottla.AsyncConsumer(client) as consumer,
            ottla.AsyncProducer(client) as producer,
        ):
            assert await consumer.topic_names() == ["orders"]
            for one in (client, consumer, producer):
                assert set(await one.partitions_for(topic)) == {0, 1, 2}
                began = time.monotonic()
                with pytest.raises(errors.UnknownTopicError):
                    await one.partitions_for("ordres")
                assert time.monotonic() - began < 30

    run(main())


def test_looking_up_a_missing_topic_keeps_its_subscription(
    mock_cluster: MockCluster,
) -> None:
    keywords: dict[str, Any] = {"auto_offset_reset": "earliest", "metadata_max_age_ms": 200}
    keywords["allow_auto_create_topics"] = False
    with ottla.Consumer(
        mock_cluster.bootstrap, group_id="g", topics=["later"], **keywords
    ) as consumer:
        assert consumer.poll(timeout=0.1) == []
        with pytest.raises(errors.UnknownTopicError):
            consumer.partitions_for("later")
        mock_cluster.create_topic("later", partitions=1)
        mock_cluster.append("later", 0, [b"v"])
        deadline = time.monotonic() + 60
        while not (records := consumer.poll(timeout=1)):
            assert time.monotonic() < deadline
        assert records[0].value == b"v"
