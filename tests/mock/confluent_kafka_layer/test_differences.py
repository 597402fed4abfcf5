"""Differences from confluent-kafka on purpose; docs/compare/stand-ins.md has their reasons."""

from __future__ import annotations

import asyncio
import importlib
import logging
import time
from typing import Any

import pytest

from ottla.compat.confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    Producer,
    TopicPartition,
)
from ottla.compat.confluent_kafka._config import client_of, settings_of
from ottla.compat.confluent_kafka._settings import Settings
from ottla.compat.confluent_kafka.aio import AIOProducer
from ottla.testing import MockCluster
from tests.support.confluent_consumers import PATIENCE, consumer_config, fill, read


def _settings(config: dict[str, Any]) -> Settings:
    settings = settings_of({"bootstrap.servers": "localhost:1", **config}, "producer")
    client_of(settings).close()
    return settings


def test_a_producer_is_idempotent_unless_it_is_turned_off() -> None:
    by_default, off = (
        _settings(config).ottla.get("enable.idempotence", True)
        for config in ({}, {"enable.idempotence": False})
    )
    assert (by_default, off) == (True, False)


def test_keys_of_ottla_alone_are_accepted() -> None:
    assert _settings({"partitioner.adaptive.partitioning.enable": False}).ottla[
        "partitioner.adaptive.partitioning.enable"
    ] in {False, "false"}


def test_an_error_can_be_caught() -> None:
    error = KafkaError(KafkaError._TIMED_OUT)
    with pytest.raises(KafkaError) as raised:
        raise error
    assert raised.value is error


def test_a_producers_poll_returns_with_the_first_report(cluster: MockCluster, name: str) -> None:
    cluster.create_topic(name, partitions=1)
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    producer.produce(name, b"v", on_delivery=lambda *_: None)
    began = time.monotonic()
    assert producer.poll(3600) == 1
    assert time.monotonic() - began < 600
    producer.close()


def test_headers_of_a_batch_and_of_asyncio_are_sent(cluster: MockCluster, name: str) -> None:
    cluster.create_topic(name, partitions=1)
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    assert producer.produce_batch(name, [{"value": b"a", "headers": {"h": b"1"}}]) == 1
    assert producer.flush(PATIENCE) == 0
    producer.close()

    async def produce() -> None:
        async with AIOProducer({"bootstrap.servers": cluster.bootstrap}) as producer:
            await (await producer.produce(name, b"b", headers=[("h", b"2")]))

    asyncio.run(produce())
    consumer = Consumer(consumer_config(cluster, name))
    consumer.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
    assert [message.headers() for message in read(consumer, 2)] == [[("h", b"1")], [("h", b"2")]]
    consumer.close()


def test_a_seek_needs_no_leader(cluster: MockCluster, name: str) -> None:
    fill(cluster, name)
    consumer = Consumer(consumer_config(cluster, name))
    consumer.assign([TopicPartition(name, 0)])
    consumer.seek(TopicPartition(name, 0, 3))
    assert read(consumer, 1)[0].offset() == 3
    consumer.close()


def test_a_logger_learns_of_connections_that_fail(caplog: pytest.LogCaptureFixture) -> None:
    producer = Producer(
        {"bootstrap.servers": "127.0.0.1:1", "logger": logging.getLogger("application")}
    )
    deadline = time.monotonic() + PATIENCE
    while not any(each.name == "application" and "FAIL" in each.message for each in caplog.records):
        assert time.monotonic() < deadline
        producer.poll(0.05)
    producer.close()


def test_the_verifiable_clients_are_missing() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("ottla.compat.confluent_kafka.kafkatest")
