"""``async_client_of`` returns the engine of a client, a producer or a consumer."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla._core import async_client_of
from ottla.testing import MockCluster
from tests.support.loops import run

Make = Callable[[Any], Any]

BLOCKING: dict[str, Make] = {
    "Client": lambda bootstrap: ottla.Client(bootstrap),
    "Producer": lambda bootstrap: ottla.Producer(bootstrap),
    "Consumer": lambda bootstrap: ottla.Consumer(bootstrap, group_id="readers"),
    "ShareConsumer": lambda bootstrap: ottla.ShareConsumer(bootstrap, group_id="sharers"),
}
ASYNC: dict[str, Make] = {
    "AsyncClient": lambda bootstrap: ottla.AsyncClient(bootstrap),
    "AsyncProducer": lambda bootstrap: ottla.AsyncProducer(bootstrap),
    "AsyncConsumer": lambda bootstrap: ottla.AsyncConsumer(bootstrap, group_id="readers"),
    "AsyncShareConsumer": lambda bootstrap: ottla.AsyncShareConsumer(bootstrap, group_id="sharers"),
}


def total_connections(cluster: MockCluster) -> int:
    return sum(cluster.connections(broker) for broker in cluster.brokers)


@pytest.mark.parametrize("kind", BLOCKING)
def test_the_engine_of_a_blocking_handle(mock_cluster: MockCluster, topic: str, kind: str) -> None:
    handle = BLOCKING[kind](mock_cluster.bootstrap)
    before = total_connections(mock_cluster)
    client = async_client_of(handle)
    assert type(client) is ottla.AsyncClient
    ours = [(c.broker, c.role, c.address) for c in client.connections()]
    assert ours == [(c.broker, c.role, c.address) for c in handle.connections()]
    assert ours
    assert total_connections(mock_cluster) == before > 0

    # Dropping it leaves the handle open.
    del client
    gc.collect()
    assert handle.connections()[0].state == "connected"

    client = async_client_of(handle)
    assert topic in run(list_topics(client))
    handle.close()
    with pytest.raises(errors.ClosedError):
        client.connections()
    with pytest.raises(errors.ClosedError):
        async_client_of(handle)


async def list_topics(client: ottla.AsyncClient) -> list[str]:
    return await client.topic_names()


@pytest.mark.parametrize("kind", ASYNC)
def test_the_engine_of_an_async_handle(mock_cluster: MockCluster, topic: str, kind: str) -> None:
    async def work() -> None:
        handle = ASYNC[kind](mock_cluster.bootstrap)
        await handle.connect()
        client = async_client_of(handle)
        assert topic in await client.topic_names()
        await asyncio.wait_for(handle.close(), 30)
        with pytest.raises(errors.ClosedError):
            client.connections()
        with pytest.raises(errors.ClosedError):
            async_client_of(handle)

    run(work())


def test_a_user_of_a_shared_client(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("orders")
    client = ottla.Client(mock_cluster.bootstrap, group_id="g", auto_offset_reset="earliest")
    with ExitStack() as stack:
        producer = stack.enter_context(ottla.Producer(client))
        consumer = stack.enter_context(ottla.Consumer(client, topics=["orders"]))
        producer.send("orders", b"x").result()
        assert consumer.poll(timeout=30)
        listed = async_client_of(consumer).connections()
        # The client's own connection, and the consumer's.
        assert [c.role for c in listed].count("data") > 1
        assert len(listed) == len(client.connections())
        assert len(listed) == len(async_client_of(client).connections())
        seen_by_consumer = async_client_of(consumer)
        seen_by_producer = async_client_of(producer)
    # Closing a user of a shared client leaves the client open.
    assert run(list_topics(seen_by_producer)) == ["orders"]
    for closed in (producer, consumer):
        with pytest.raises(errors.ClosedError):
            async_client_of(closed)
    # The consumer's own connections close with it, although its client is still in use.
    assert "coordinator" in {c.role for c in seen_by_consumer.connections()}
    del closed, consumer
    deadline = time.monotonic() + 30
    while "coordinator" in {c.role for c in seen_by_consumer.connections()}:
        assert time.monotonic() < deadline
        gc.collect()
        time.sleep(0.01)
    client.close()
    with pytest.raises(errors.ClosedError):
        seen_by_consumer.connections()


@pytest.mark.parametrize("other", [None, "localhost:9092", object(), ottla.Client])
def test_another_object(other: object) -> None:
    name = type(other).__name__
    with pytest.raises(TypeError, match=f"handle is of type {name}: expected a client"):
        async_client_of(other)
