"""The doctor at a real broker whose limits are reached: connections, and the request quota."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

import ottla
from ottla.admin import ConfigResource
from tests.doctor.quotas import set_request_quota
from tests.doctor.verdicts import BROKER, check_verdict, port_of
from tests.support.golden import Replacements
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_node import KafkaNode
from tests.support.ports import free_ports

pytestmark = [pytest.mark.cluster, pytest.mark.deep]

_HELD = 3
_NO_LIMIT = "2147483647"


class LimitedBroker:
    """A broker with a second listener, of at most three connections."""

    def __init__(self) -> None:
        [self.port] = free_ports(1)
        self.address = f"127.0.0.1:{self.port}"
        self.cluster = KafkaCluster(1, self._properties)

    def _properties(self, node: KafkaNode) -> dict[str, str]:
        named = node.properties
        return {
            "listeners": f"{named['listeners']},LIMITED://{self.address}",
            "advertised.listeners": f"{named['advertised.listeners']},LIMITED://{self.address}",
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,LIMITED:PLAINTEXT"
            ),
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.name.limited.max.connections": str(_HELD),
            # A quota throttles for up to a window.
            "quota.window.size.seconds": "3",
        }


@pytest.fixture(scope="module")
def broker() -> Iterator[LimitedBroker]:
    """The broker."""
    broker = LimitedBroker()
    with broker.cluster:
        broker.cluster.create_topic("orders", 1, 1)
        yield broker


@contextlib.contextmanager
def held_connections(address: str) -> Iterator[None]:
    """Keep connections open."""
    host, _, port = address.rpartition(":")
    with contextlib.ExitStack() as held:
        for _ in range(_HELD):
            held.enter_context(socket.create_connection((host, int(port))))
        yield


def is_closed_at_once(address: str) -> bool:
    """Return whether a new connection is closed before a request."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.settimeout(0.5)
        try:
            return connection.recv(1) == b""
        except TimeoutError:
            return False
        except ConnectionResetError:
            return True


def test_max_connections(broker: LimitedBroker) -> None:
    with held_connections(broker.address):
        report = ottla.diagnose(broker.address, timeout=12)
    check_verdict("brokers/max_connections", report, Replacements({broker.port: BROKER}))


def test_max_connections_per_ip(broker: LimitedBroker) -> None:
    address = broker.cluster.bootstrap
    itself = ConfigResource("broker", "1")
    # Its connection is one of those that were opened before the limit.
    with ottla.Admin(address) as admin, held_connections(address):
        admin.alter_configs({itself: {"max.connections.per.ip": "1"}})
        try:
            wait_until(lambda: is_closed_at_once(address), lambda: "connections stay open")
            report = ottla.diagnose(address, timeout=12)
        finally:
            admin.alter_configs({itself: {"max.connections.per.ip": _NO_LIMIT}})
    shows = Replacements({port_of(address): BROKER})
    check_verdict("brokers/max_connections_per_ip", report, shows, exact=False)


def test_the_request_quota(broker: LimitedBroker) -> None:
    cluster = broker.cluster
    set_request_quota(cluster, "0.001")
    report = ottla.diagnose(cluster.bootstrap, topic="orders", timeout=60)
    shows = Replacements({port_of(cluster.bootstrap): BROKER}, seconds=True)
    check_verdict("brokers/request_quota", report, shows, exact=False)
