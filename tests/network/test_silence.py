"""Brokers that stop responding: packets are dropped before or after connecting."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.network.conftest import BROKERS, ClientSite
from tests.support.network import Network

pytestmark = [pytest.mark.cluster, pytest.mark.network, pytest.mark.fault]

SiteFactory = Callable[[str], ClientSite]
REQUEST_TIMEOUT = 4.0
CONFIG = {
    "request.timeout.ms": int(REQUEST_TIMEOUT * 1000),
    "socket.connection.setup.timeout.ms": 3000,
    "delivery.timeout.ms": 12_000,
}


def test_one_broker_in_a_black_hole_harms_no_other(
    site_for: SiteFactory, topic: str, network: Network
) -> None:
    site = site_for("external_names")
    network.blackhole(network.broker_address(2))
    opened = site.agent.run("open", bootstrap=site.bootstrap, config=CONFIG)
    assert "error" not in opened
    leaders = site.agent.run("leaders", topic=topic)["leaders"]
    for partition, leader in enumerate(leaders):
        result = site.agent.run("send", topic=topic, partition=partition)
        if leader == 2:
            assert result.get("error") == "TimeoutError", result
            assert "kafka2.ottla.test" in result["message"]
            assert result["context"]["phase"] == "TCP"
        else:
            assert result.get("offset") == 0, result
            assert result["seconds"] < 10, "faster than the timeout of the silent broker"
    network.heal()
    result = site.agent.run("send", topic=topic, partition=leaders.index(2))
    assert "offset" in result, result


def test_half_open_connections_are_found_by_the_request_timeout(
    site_for: SiteFactory, topic: str, network: Network
) -> None:
    site = site_for("external_names")
    config = {**CONFIG, "delivery.timeout.ms": 120_000}
    site.agent.run("open", bootstrap=site.bootstrap, config=config)
    leader = site.agent.run("leaders", topic=topic)["leaders"][1]
    assert "offset" in site.agent.run("send", topic=topic, partition=1)
    # From now on, the connection is half-open: both ends consider it open.
    network.blackhole(*(network.broker_address(i) for i in range(1, BROKERS + 1)))
    lost = site.agent.run("send_until_disconnect", topic=topic, partition=1, broker=leader)
    assert lost["before"] == ["connected", None]
    state, why = lost["after"]
    assert state != "connected"
    assert "no response to Produce" in why, lost
    # Not by TCP, which would take minutes.
    assert REQUEST_TIMEOUT - 0.1 < lost["seconds"] < REQUEST_TIMEOUT + 25
    network.heal()
    # The record goes to its partition over a new connection.
    assert site.agent.run("wait_for_delivery").get("offset") == 1
