"""Clients of the compatibility layers that the application has forgotten are collected, too."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from ottla.compat import aiokafka, confluent_kafka, kafka
from ottla.compat.confluent_kafka.aio import AIOConsumer, AIOProducer
from ottla.testing import MockCluster
from tests.support.forgotten import Application, assert_collected, connections
from tests.support.loops import run
from tests.support.waiting import wait_until


class Listener(kafka.ConsumerRebalanceListener):
    """A listener that refers to the application."""

    def __init__(self, app: Application) -> None:
        self.app = app

    def on_partitions_revoked(self, revoked: object) -> None:
        """Do nothing."""

    def on_partitions_assigned(self, assigned: object) -> None:
        """Do nothing."""


@pytest.fixture
def cluster(mock_cluster: MockCluster) -> MockCluster:
    """A cluster with a topic and records."""
    mock_cluster.create_topic("orders", partitions=2)
    mock_cluster.append("orders", 0, [b"1", b"2"])
    return mock_cluster


def confluent_consumer(app: Application, cluster: MockCluster) -> Any:
    reader = confluent_kafka.Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    reader.subscribe(["orders"], on_assign=app.called)
    message = reader.poll(30)
    assert message is not None
    return reader


def confluent_producer(app: Application, cluster: MockCluster) -> Any:
    """Reports that no poll has served."""
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    for _ in range(2):
        producer.produce("orders", b"3", on_delivery=app.called)
    wait_until(lambda: cluster.end_offset("orders", 0) + cluster.end_offset("orders", 1) == 4)
    return producer


def confluent_share_consumer(app: Application, cluster: MockCluster) -> Any:
    reader = confluent_kafka.ShareConsumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "s"}
    )
    reader.subscribe(["orders"])
    reader.poll(0.1)
    return reader


def kafka_python_consumer(app: Application, cluster: MockCluster) -> Any:
    reader = kafka.KafkaConsumer(
        bootstrap_servers=cluster.bootstrap,
        group_id="g",
        auto_offset_reset="earliest",
        value_deserializer=app.load,
    )
    reader.subscribe(["orders"], listener=Listener(app))
    wait_until(lambda: reader.poll(timeout_ms=500))
    return reader


def kafka_python_producer(app: Application, cluster: MockCluster) -> Any:
    producer = kafka.KafkaProducer(bootstrap_servers=cluster.bootstrap, value_serializer=app.load)
    sent = producer.send("orders", b"3")
    sent.add_callback(app.called)
    sent.get(timeout=30)
    return producer


CLIENTS: dict[str, Callable[[Application, MockCluster], Any]] = {
    "confluent-consumer": confluent_consumer,
    "confluent-producer": confluent_producer,
    "confluent-share-consumer": confluent_share_consumer,
    "kafka-python-consumer": kafka_python_consumer,
    "kafka-python-producer": kafka_python_producer,
}


@pytest.mark.filterwarnings("ignore:value_.*serializer does not implement:DeprecationWarning")
@pytest.mark.parametrize("kind", CLIENTS)
def test_a_forgotten_client_is_collected_with_its_callables(
    kind: str, cluster: MockCluster
) -> None:
    app = Application()
    app.client = CLIENTS[kind](app, cluster)
    assert connections(cluster) > 0
    forgotten = weakref.ref(app)
    del app
    assert_collected(forgotten, cluster)


async def aiokafka_consumer(app: Application, cluster: MockCluster) -> Any:
    reader = aiokafka.AIOKafkaConsumer("orders", bootstrap_servers=cluster.bootstrap, group_id="g")
    await reader.start()
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    return reader


async def confluent_aio_producer(app: Application, cluster: MockCluster) -> Any:
    producer = AIOProducer({"bootstrap.servers": cluster.bootstrap})
    await (await producer.produce("orders", b"3"))
    return producer


async def aiokafka_producer(app: Application, cluster: MockCluster) -> Any:
    producer = aiokafka.AIOKafkaProducer(
        bootstrap_servers=cluster.bootstrap, value_serializer=app.load
    )
    await producer.start()
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    await producer.send_and_wait("orders", b"3")
    return producer


async def confluent_aio_consumer(app: Application, cluster: MockCluster) -> Any:
    reader = AIOConsumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    await reader.subscribe(["orders"], on_assign=app.called_later)
    assert await reader.poll(30) is not None
    return reader


ASYNC_CLIENTS = {
    "aiokafka-consumer": aiokafka_consumer,
    "aiokafka-producer": aiokafka_producer,
    "confluent-aio-consumer": confluent_aio_consumer,
    "confluent-aio-producer": confluent_aio_producer,
}


@pytest.mark.filterwarnings("ignore:Unclosed AIOKafka:ResourceWarning")
@pytest.mark.parametrize("kind", ASYNC_CLIENTS)
def test_a_forgotten_asyncio_client_is_collected_with_its_callables(
    kind: str, cluster: MockCluster
) -> None:
    async def forget() -> weakref.ref[Application]:
        app = Application()
        app.client = await ASYNC_CLIENTS[kind](app, cluster)
        assert connections(cluster) > 0
        return weakref.ref(app)

    assert_collected(run(forget()), cluster)
