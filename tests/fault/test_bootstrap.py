"""Bootstrapping with mostly wrong addresses, and again after all brokers moved."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator

import pytest

import ottla
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_properties import FAST_FAILOVER
from tests.support.ports import free_ports

pytestmark = [pytest.mark.cluster, pytest.mark.fault]

TopicFactory = Callable[..., str]


@pytest.fixture
def silent() -> Iterator[str]:
    """Provide a server that accepts connections and never responds."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_one_of_three_bootstrap_servers_is_alive(
    kafka: KafkaCluster, kafka_topic: TopicFactory, silent: str
) -> None:
    topic = kafka_topic()
    refusing = f"127.0.0.1:{free_ports(1)[0]}"
    alive = kafka.nodes[2].address
    # A client that waits for the silent server waits for a minute.
    config = {"socket.connection.setup.timeout.ms": 60_000, "request.timeout.ms": 60_000}
    # The client shuffles the list each time: in most runs, a dead server is first.
    for servers in ([refusing, silent, alive], [alive, silent, refusing]) * 4:
        started = time.monotonic()
        with ottla.Client(",".join(servers), config, timeout=100) as client:
            assert set(client.cluster([topic]).brokers) == {1, 2, 3}
        assert time.monotonic() - started < 30


def test_brokers_that_moved_are_found_again_through_the_bootstrap_list() -> None:
    """All brokers restart at new addresses at once, which no metadata contains."""
    with KafkaCluster(brokers=3, config=FAST_FAILOVER) as kafka:
        kafka.create_topic("moved", partitions=3)
        before = {node.address for node in kafka.nodes.values()}
        future = free_ports(3)
        # As with DNS names that get new addresses: some in the list become valid later.
        known = [kafka.nodes[1].address, f"127.0.0.1:{future[0]}"]
        with (
            ottla.Client(",".join(known)) as client,
            ottla.Producer(client) as producer,
        ):
            for partition in range(3):
                assert (
                    producer.send("moved", "a", partition=partition).result(timeout=120).offset == 0
                )
            kafka.move(future)
            after = {node.address for node in kafka.nodes.values()}
            assert not before & after
            for partition in range(3):
                # At least once: the brokers may have stopped with a response in flight.
                offset = producer.send("moved", "b", partition=partition).result(timeout=120).offset
                assert offset is not None
                assert offset >= 1
            assert {f"{b.host}:{b.port}" for b in client.cluster().brokers.values()} == after
            connected = {c.address for c in client.connections() if c.state == "connected"}
            assert connected
            assert connected <= after
