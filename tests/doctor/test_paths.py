"""The doctor over faulty network paths, which proxies imitate."""

from __future__ import annotations

import contextlib
import random

import pytest

import ottla
from ottla.testing import MockCluster
from tests.doctor.verdicts import BROKER, OTHER, check_verdict, port_of
from tests.support.golden import Replacements
from tests.support.mtu_black_hole import MtuBlackHole
from tests.support.tcp_proxy import Delay, tcp_proxy

_HEADERS = 52


@pytest.mark.deep
def test_a_path_with_a_small_mtu(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("orders", partitions=3)
    ports = {port_of(address): BROKER + i - 1 for i, address in mock_cluster.brokers.items()}
    with MtuBlackHole(mock_cluster.brokers[2], max_payload=900 - _HEADERS) as path:
        ports[port_of(path.address)] = OTHER
        mock_cluster.advertise(2, path.address)
        step_timeout = {"socket.connection.setup.timeout.ms": 1500}
        report = ottla.diagnose(mock_cluster.brokers[1], step_timeout, topic="orders")
    check_verdict("namespaces/narrow_900", report, Replacements(ports))


def lossy() -> Delay:
    """Return a delay as a loss of a fifth of the packets causes: TCP sends them again."""
    chance = random.Random(45)

    def delay() -> float:
        again = 0.2
        total = 0.0
        while chance.random() < 0.2:
            total, again = total + again, 2 * again
        return total

    return delay


@pytest.mark.deep
@pytest.mark.parametrize("name", ["clusters/latency", "namespaces/packet_loss"])
def test_a_path_that_is_slow(mock_cluster: MockCluster, name: str) -> None:
    mock_cluster.create_topic("orders", partitions=3)
    delay = lossy() if name == "namespaces/packet_loss" else lambda: 0.3
    shows: dict[int, int] = {}
    with contextlib.ExitStack() as proxies:
        for broker, address in dict(mock_cluster.brokers).items():
            port = proxies.enter_context(tcp_proxy([address], delay))
            shows[port] = BROKER + broker - 1
            mock_cluster.advertise(broker, f"127.0.0.1:{port}")
        servers = [f"127.0.0.1:{port}" for port in shows]
        report = ottla.diagnose(servers, topic="orders", group="billing", timeout=60)
    check_verdict(name, report, Replacements(shows, seconds=True), exact=False)
