"""Brokers that fall silent: packets are dropped before connecting, or under a connection."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.network.conftest import BROKERS, Place
from tests.support.network import Network

pytestmark = [pytest.mark.cluster, pytest.mark.network, pytest.mark.fault]

Meet = Callable[[str], Place]
REQUEST_TIMEOUT = 4.0
CONFIG = {
    "request.timeout.ms": int(REQUEST_TIMEOUT * 1000),
    "socket.connection.setup.timeout.ms": 3000,
    "delivery.timeout.ms": 12_000,
}


def test_one_broker_in_a_black_hole_harms_no_other(
    meet: Meet, topic: str, network: Network
) -> None:
    place = meet("external_names")
    network.blackhole(network.broker_address(2))
    opened = place.agent.do("open", bootstrap=place.bootstrap, config=CONFIG)
    assert "error" not in opened
    leaders = place.agent.do("leaders", topic=topic)["leaders"]
    for partition, leader in enumerate(leaders):
        answer = place.agent.do("send", topic=topic, partition=partition)
        if leader == 2:
            assert answer.get("error") == "TimeoutError", answer
            assert "kafka2.ottla.test" in answer["message"]
            assert answer["context"]["phase"] == "TCP"
        else:
            assert answer.get("offset") == 0, answer
            assert answer["seconds"] < 10, "less than it takes to give up the other"
    network.heal()
    answer = place.agent.do("send", topic=topic, partition=leaders.index(2))
    assert "offset" in answer, answer


def test_half_open_connections_are_found_by_the_request_timeout(
    meet: Meet, topic: str, network: Network
) -> None:
    place = meet("external_names")
    config = {**CONFIG, "delivery.timeout.ms": 120_000}
    place.agent.do("open", bootstrap=place.bootstrap, config=config)
    leader = place.agent.do("leaders", topic=topic)["leaders"][1]
    assert "offset" in place.agent.do("send", topic=topic, partition=1)
    # From here on both ends believe in a connection that carries nothing, and nobody is told.
    network.blackhole(*(network.broker_address(i) for i in range(1, BROKERS + 1)))
    lost = place.agent.do("lose", topic=topic, partition=1, broker=leader)
    assert lost["before"] == ["connected", None]
    state, why = lost["after"]
    assert state != "connected"
    assert "no response to Produce" in why, lost
    # Not by TCP, which would take minutes.
    assert REQUEST_TIMEOUT - 0.1 < lost["seconds"] < REQUEST_TIMEOUT + 25
    network.heal()
    # The record goes to its partition over a new connection.
    assert place.agent.do("delivered").get("offset") == 1
