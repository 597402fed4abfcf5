"""A client that the application has forgotten is collected, with the callables that refer to it.

The application refers to the client and the client to its callables, which the garbage collector
must see.
"""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.compat import aiokafka, confluent_kafka
from ottla.compat.confluent_kafka.aio import AIOProducer
from ottla.testing import Fault, MockCluster
from tests.support.forgotten import Application, assert_collected, connections
from tests.support.loops import run
from tests.support.waiting import wait_until

OAUTH: dict[str, Any] = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}

Make = Callable[[Application, MockCluster], Any]


@pytest.fixture
def cluster(mock_cluster: MockCluster) -> MockCluster:
    """A cluster with a topic and records."""
    mock_cluster.create_topic("orders", partitions=2)
    mock_cluster.append("orders", 0, [b"1", b"2"])
    return mock_cluster


@pytest.fixture
def oauth_cluster() -> Iterator[MockCluster]:
    """A cluster on which clients authenticate by a token."""
    with MockCluster(users={"application": "secret"}) as cluster:
        yield cluster


def consumer(app: Application, cluster: MockCluster, **config: Any) -> ottla.Consumer:
    return ottla.Consumer(cluster.bootstrap, group_id="g", auto_offset_reset="earliest", **config)


def subscribed(callback: str) -> Make:
    def make(app: Application, cluster: MockCluster) -> ottla.Consumer:
        reader = consumer(app, cluster)
        callbacks: dict[str, Any] = {callback: app.called}
        reader.subscribe(["orders"], **callbacks)
        assert reader.poll(timeout=30)
        return reader

    return make


def polled(**hooks: Callable[[Application], Any]) -> Make:
    def make(app: Application, cluster: MockCluster) -> ottla.Consumer:
        reader = consumer(app, cluster, **{name: hook(app) for name, hook in hooks.items()})
        reader.subscribe(["orders"])
        assert reader.poll(timeout=30)
        return reader

    return make


def committed(app: Application, cluster: MockCluster) -> ottla.Consumer:
    """A commit whose callback no poll has called."""
    reader = consumer(app, cluster)
    reader.assign([("orders", 0)])
    reader.commit_async({("orders", 0): 1}, on_commit=app.called)
    wait_until(lambda: ("orders", 0) in cluster.committed("g"))
    return reader


def share(app: Application, cluster: MockCluster) -> Any:
    reader: Any = ottla.ShareConsumer(
        cluster.bootstrap, group_id="s", topics=["orders"], value_deserializer=app.load
    )
    reader.set_acknowledgement_commit_callback(app.called)
    reader.poll(timeout=0.1)
    return reader


def sent(**hooks: Callable[[Application], Any]) -> Make:
    def make(app: Application, cluster: MockCluster) -> ottla.Producer:
        producer = ottla.Producer(
            cluster.bootstrap, **{name: hook(app) for name, hook in hooks.items()}
        )
        producer.send("orders", b"3").result(timeout=30)
        return producer

    return make


def in_transaction(app: Application, cluster: MockCluster) -> ottla.Producer:
    producer = ottla.Producer(
        cluster.bootstrap,
        transactional_id="t",
        partitioner=app.partition,
        value_serializer=app.load,
    )
    producer.init_transactions()
    with producer.transaction():
        producer.send("orders", b"3")
    return producer


def reported(app: Application, cluster: MockCluster) -> ottla.Producer:
    """A callback whose exception no flush has raised."""
    producer = ottla.Producer(cluster.bootstrap, linger_ms=0)
    producer.send("orders", b"3", on_delivery=app.fails).result(timeout=30)
    return producer


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


CLIENTS: dict[str, Make] = {
    "consumer-on_assigned": subscribed("on_assigned"),
    "consumer-on_revoked": subscribed("on_revoked"),
    "consumer-on_lost": subscribed("on_lost"),
    "consumer-deserializer": polled(value_deserializer=lambda app: app.load),
    "consumer-interceptor": polled(interceptors=lambda app: [app]),
    "consumer-assignor": polled(partition_assignment_strategy=lambda app: app),
    "consumer-on_commit": committed,
    "share-consumer": share,
    "producer-serializer": sent(key_serializer=lambda app: app.load),
    "producer-interceptor": sent(interceptors=lambda app: [app]),
    "producer-partitioner": sent(partitioner=lambda app: app.partition),
    "producer-transactions": in_transaction,
    "producer-on_delivery": reported,
    "confluent-consumer": confluent_consumer,
    "confluent-producer": confluent_producer,
}


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


async def async_consumer(app: Application, cluster: MockCluster) -> Any:
    reader: Any = ottla.AsyncConsumer(
        cluster.bootstrap,
        group_id="g",
        auto_offset_reset="earliest",
        value_deserializer=app.load,
        interceptors=[app],
        partition_assignment_strategy=app,
    )
    reader.subscribe(["orders"], on_assigned=app.called_later, on_revoked=app.called)
    assert await reader.poll(timeout=30)
    return reader


async def async_share_consumer(app: Application, cluster: MockCluster) -> Any:
    reader: Any = ottla.AsyncShareConsumer(
        cluster.bootstrap, group_id="s", topics=["orders"], value_deserializer=app.load
    )
    reader.set_acknowledgement_commit_callback(app.called_later)
    await reader.poll(timeout=0.1)
    return reader


async def async_producer(app: Application, cluster: MockCluster) -> Any:
    """A producer with a failure in whose traceback it is."""
    producer: Any = ottla.AsyncProducer(
        cluster.bootstrap,
        value_serializer=app.load,
        interceptors=[app],
        partitioner=app.partition,
    )
    await producer.send("orders", b"3")
    cluster.inject(Fault.error("INVALID_RECORD"), api="Produce", times=1)
    try:
        await producer.send("orders", b"4")
    except errors.KafkaError as error:
        app.exception = error
    return producer


async def aiokafka_consumer(app: Application, cluster: MockCluster) -> Any:
    reader = aiokafka.AIOKafkaConsumer("orders", bootstrap_servers=cluster.bootstrap, group_id="g")
    await reader.start()
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    return reader


async def confluent_aio_producer(app: Application, cluster: MockCluster) -> Any:
    producer = AIOProducer({"bootstrap.servers": cluster.bootstrap})
    await (await producer.produce("orders", b"3"))
    return producer


ASYNC_CLIENTS = {
    "consumer": async_consumer,
    "share-consumer": async_share_consumer,
    "producer": async_producer,
    "aiokafka-consumer": aiokafka_consumer,
    "confluent-aio-producer": confluent_aio_producer,
}


@pytest.mark.filterwarnings("ignore:Unclosed AIOKafkaConsumer:ResourceWarning")
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


@pytest.mark.parametrize("kind", ["Client", "Admin", "Consumer", "Producer", "ShareConsumer"])
def test_a_forgotten_client_is_collected_with_its_token_callback(
    kind: str, oauth_cluster: MockCluster
) -> None:
    app = Application()
    group = {"group_id": "g"} if "Consumer" in kind else {}
    app.client = getattr(ottla, kind)(
        oauth_cluster.bootstrap, sasl_oauth_token=app.token, **OAUTH, **group
    )
    assert connections(oauth_cluster) > 0
    forgotten = weakref.ref(app)
    del app
    assert_collected(forgotten, oauth_cluster)


def test_a_shared_client_keeps_its_token_callback(oauth_cluster: MockCluster) -> None:
    """The consumer authenticates after the application has forgotten the client."""
    oauth_cluster.create_topic("orders", partitions=1)
    oauth_cluster.append("orders", 0, [b"1"])
    app = Application()
    app.client = ottla.Client(
        oauth_cluster.bootstrap, sasl_oauth_token=app.token, auto_offset_reset="earliest", **OAUTH
    )
    with ottla.Consumer(app.client) as reader:
        del app
        gc.collect()
        reader.assign([("orders", 0)])
        assert [record.value for record in reader.poll(timeout=30)] == [b"1"]


@pytest.mark.parametrize("kind", [ottla.Consumer, ottla.ShareConsumer])
def test_close_lets_go_of_callbacks(kind: Any, cluster: MockCluster) -> None:
    app = Application()
    with kind(cluster.bootstrap, group_id="g") as reader:
        if kind is ottla.Consumer:
            reader.subscribe(["orders"], on_assigned=app.called, on_revoked=app.called)
        else:
            reader.set_acknowledgement_commit_callback(app.called)
    forgotten = weakref.ref(app)
    del app
    assert forgotten() is None
