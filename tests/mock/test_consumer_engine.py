"""The number of connections of a consumer, and heartbeats that do not depend on the application."""

from __future__ import annotations

import ctypes
import time
from typing import Any

import pytest

import ottla
from ottla.testing import MockCluster
from tests.support.kafka_admin import wait_until


def read(consumer: ottla.Consumer, count: int) -> int:
    """Poll until `count` records arrived and return their number."""
    found = 0
    deadline = time.monotonic() + 120
    while found < count and time.monotonic() < deadline:
        found += len(consumer.poll(timeout=0.5))
    return found


def test_one_connection_per_leader_and_one_for_the_coordinator() -> None:
    with MockCluster(brokers=12) as cluster:
        cluster.create_topic("t", 12)
        for partition in range(12):
            cluster.move_leader("t", partition, partition + 1)
        with ottla.Producer(cluster.bootstrap) as producer:
            for partition in range(12):
                for _ in range(10):
                    producer.send("t", b"v", partition=partition)
        with ottla.Consumer(
            cluster.bootstrap, group_id="g", topics=["t"], auto_offset_reset="earliest"
        ) as consumer:
            assert read(consumer, 120) == 120
            consumer.commit()
            assert sum(cluster.connections(broker) for broker in range(1, 13)) <= 13
        wait_until(
            lambda: not any(cluster.connections(broker) for broker in range(1, 13)),
            lambda: "a closed consumer keeps its connections",
            60,
        )


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_heartbeats_are_on_time_during_large_responses_and_gil_stalls(protocol: str) -> None:
    api = {"classic": "Heartbeat", "consumer": "ConsumerGroupHeartbeat"}[protocol]
    config: dict[str, Any] = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 100}
    with MockCluster(brokers=1, group_session_timeout=6) as cluster:
        cluster.create_topic("t", 1, replication=1)
        value = bytes(1_000_000)
        with ottla.Producer(cluster.bootstrap, max_request_size=2_000_000) as producer:
            for _ in range(100):
                producer.send("t", value)
        lost: list[object] = []
        consumer = ottla.Consumer(
            cluster.bootstrap,
            {"group.protocol": protocol},
            group_id="g",
            auto_offset_reset="earliest",
            fetch_max_bytes=100_000_000,
            max_partition_fetch_bytes=100_000_000,
            receive_message_max_bytes=200_000_000,
            prefetch_max_bytes=200_000_000,
            **(config if protocol == "classic" else {}),
        )
        with consumer:
            consumer.subscribe(["t"], on_lost=lambda _consumer, gone: lost.extend(gone))
            while not consumer.assignment():
                consumer.poll(timeout=0.05)
            before = cluster.request_count(api)
            # Every thread that needs the GIL is blocked for three seconds.
            ctypes.PyDLL(None).usleep(3_000_000)
            heartbeats = cluster.request_count(api) - before
            # About 30, or 15 at the mock's interval; at most one if heartbeats needed the GIL.
            assert heartbeats >= 3, heartbeats
            assert read(consumer, 100) == 100
        assert lost == []
