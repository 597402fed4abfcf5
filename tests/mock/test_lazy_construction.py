"""Proves: with ``connect=False`` a class checks its configuration, starts nothing and connects at
first use. Polls keep to their timeouts meanwhile; a server that cannot be used is an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster

CONSUMER: dict[str, Any] = {"group_id": "g", "auto_offset_reset": "earliest"}
CLASSES: dict[str, Callable[..., object]] = {
    "Client": ottla.Client,
    "Producer": ottla.Producer,
    "Consumer": ottla.Consumer,
    "ShareConsumer": partial(ottla.ShareConsumer, group_id="g"),
    "Admin": ottla.Admin,
}


def closed_port() -> str:
    """An address where nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("name", CLASSES)
def test_the_configuration_is_checked_at_once(name: str) -> None:
    with pytest.raises(errors.ConfigError, match="max_block"):
        CLASSES[name]("127.0.0.1:1", connect=False, max_block_m=1)


def test_nothing_is_started() -> None:
    program = """
import threading, ottla
kept = [ottla.Client("127.0.0.1:1", connect=False), ottla.Admin("127.0.0.1:1", connect=False),
        ottla.Producer("127.0.0.1:1", connect=False, transactional_id="t"),
        ottla.Consumer("127.0.0.1:1", connect=False, topics=["t"], group_id="g"),
        ottla.ShareConsumer("127.0.0.1:1", connect=False, topics=["t"], group_id="g"),
        ottla.AsyncProducer("127.0.0.1:1"), ottla.AsyncConsumer("127.0.0.1:1", topics=["t"])]
with open("/proc/self/status") as status:
    print(next(line for line in status if line.startswith("Threads:")).split()[1])
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.strip() == "1", ran.stderr


def test_the_first_use_connects() -> None:
    with MockCluster() as cluster:
        cluster.create_topic("t")
        servers = cluster.bootstrap
        with (
            ottla.Producer(servers, connect=False) as producer,
            ottla.Consumer(servers, connect=False, topics=["t"], **CONSUMER) as consumer,
            ottla.Admin(servers, connect=False) as admin,
        ):
            assert cluster.request_count("ApiVersions") == 0
            producer.send("t", b"v").result()
            assert [record.value for record in consumer.poll(timeout=30)] == [b"v"]
            assert [topic.name for topic in admin.list_topics()] == ["t"]


def test_the_first_use_may_be_that_of_a_coordinator() -> None:
    with MockCluster() as cluster:
        cluster.create_topic("t")
        cluster.commit("g", "t", 0, 7)
        with ottla.Consumer(cluster.bootstrap, connect=False, group_id="g") as consumer:
            committed = consumer.committed(("t", 0), timeout=10)[("t", 0)]
            assert committed is not None
            assert committed.offset == 7
        with ottla.Producer(cluster.bootstrap, connect=False, transactional_id="x") as producer:
            producer.init_transactions(timeout=10)


def test_a_poll_keeps_to_its_timeout_and_the_search_goes_on() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # accepts, and never responds
        silent = f"127.0.0.1:{listener.getsockname()[1]}"
        with MockCluster() as cluster:
            cluster.create_topic("t")
            with ottla.Consumer(
                silent, connect=False, topics=["t"], **CONSUMER, request_timeout_ms=500
            ) as consumer:
                began = time.monotonic()
                assert consumer.poll(timeout=0.2) == []
                assert consumer.poll(timeout=0) == []
                assert time.monotonic() - began < 30


def test_an_unusable_server_is_an_error_of_the_first_poll() -> None:
    consumer = ottla.Consumer(closed_port(), connect=False, topics=["t"], **CONSUMER)
    for _ in range(2):
        with pytest.raises(errors.BootstrapError, match="nothing listens there"):
            consumer.poll(timeout=10)
    consumer.close()
    share_consumer = ottla.ShareConsumer(closed_port(), connect=False, topics=["t"], group_id="g")
    with pytest.raises(errors.BootstrapError, match="nothing listens there"):
        share_consumer.poll(timeout=10)
    share_consumer.close()


def test_the_asyncio_twins_do_the_same() -> None:
    async def polls() -> None:
        consumer = ottla.AsyncConsumer(closed_port(), topics=["t"], **CONSUMER)
        for _ in range(2):
            with pytest.raises(errors.BootstrapError, match="nothing listens there"):
                await consumer.poll(timeout=10)
        await consumer.close()
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            silent = f"127.0.0.1:{listener.getsockname()[1]}"
            for quiet in (
                ottla.AsyncConsumer(silent, topics=["t"], **CONSUMER),
                ottla.AsyncShareConsumer(silent, topics=["t"], group_id="g"),
            ):
                began = time.monotonic()
                assert await quiet.poll(timeout=0.2) == []
                assert await quiet.poll(timeout=0) == []
                assert time.monotonic() - began < 30
                with contextlib.suppress(errors.TimeoutError):  # no broker can be told
                    await quiet.close(timeout=0.5)

    asyncio.run(polls())


def test_a_lookup_that_no_broker_has_responded_to_does_not_call_the_topic_missing() -> None:
    client = ottla.Client(closed_port(), connect=False, max_block_ms=3500)
    producer = ottla.Producer(client)
    with pytest.raises(errors.TimeoutError, match="nothing listens there"):
        producer.send("t", b"v")
    producer.close()
    client.close()
