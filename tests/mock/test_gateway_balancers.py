"""Two gateways behind one balancer are one: any of them serves a connection to any broker."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

import ottla
from ottla.testing import MockCluster
from tests.support.gateway_process import GatewayProcess
from tests.support.ports import free_ports, free_ports_in_a_row
from tests.support.tcp_proxy import tcp_proxy
from tests.support.twin_gateways import HOSTS, twin_gateways

PARTITIONS = 6
TIMEOUT = 30.0


@dataclass(frozen=True)
class Site:
    """The mock, its gateways, and the port of their status."""

    cluster: MockCluster
    gateways: list[GatewayProcess]
    status: int

    @property
    def bootstrap(self) -> str:
        """The balancer's address for bootstrapping."""
        return self.gateways[0].bootstrap

    def document(self, host: str, path: str) -> Any:
        """Return what the status of a gateway has at a path."""
        where = f"http://{host}:{self.status}/{path}"
        with urllib.request.urlopen(where, timeout=TIMEOUT) as response:
            return json.load(response)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """Provide two gateways, and a balancer that passes each port on to the same port of either."""
    first, status = free_ports_in_a_row(5), free_ports(1)[0]
    with ExitStack() as running:
        cluster = running.enter_context(MockCluster())
        gateways = running.enter_context(twin_gateways(cluster.bootstrap, first, status))
        for port in (first, *(first + 1 + broker for broker in cluster.brokers)):
            running.enter_context(tcp_proxy([f"{host}:{port}" for host in HOSTS], port=port))
        yield Site(cluster, gateways, status)


def _send_to_each(producer: ottla.Producer, topic: str) -> None:
    for n in range(PARTITIONS):
        producer.send(topic, value=b"%d" % n, partition=n).result(timeout=TIMEOUT)


def test_each_record_reaches_its_leader_whichever_gateway_a_connection_meets(site: Site) -> None:
    site.cluster.create_topic("t", partitions=PARTITIONS)
    one, two = (site.document(host, "brokers") for host in HOSTS)
    assert one == two
    expected = site.gateways[0].brokers
    assert {each["id"]: each["address"] for each in one["brokers"]} == expected
    used: set[str] = set()
    # A producer has one connection to each broker, so that two use both gateways for each.
    for _ in HOSTS:
        with ottla.Producer(site.bootstrap) as producer, ottla.Client(site.bootstrap) as client:
            _send_to_each(producer, "t")
            used |= {host for host in HOSTS if site.document(host, "connections")}
            found = client.cluster().brokers.values()
            assert {each.id: f"{each.host}:{each.port}" for each in found} == expected
    assert used == set(HOSTS)
    assert [site.cluster.end_offset("t", n) for n in range(PARTITIONS)] == [2] * PARTITIONS
    # Each address leads to one broker, by whichever gateway.
    report = ottla.diagnose(site.bootstrap, topic="t")
    assert report.ok, str(report)
    assert "gateway" in {finding.code for finding in report.findings}


def test_one_of_them_dies(site: Site) -> None:
    site.cluster.create_topic("u", partitions=PARTITIONS)
    with ottla.Producer(site.bootstrap) as producer:
        for dead in site.gateways:
            _send_to_each(producer, "u")
            dead.kill()
            _send_to_each(producer, "u")
            dead.start()
    assert [site.cluster.end_offset("u", n) for n in range(PARTITIONS)] == [4] * PARTITIONS
