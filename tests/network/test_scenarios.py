"""How clients meet brokers: what works, and what cannot and says so, on real networks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.network.conftest import BROKERS, EXTERNAL, LOCAL, VIP, Place
from tests.support.kafka_cluster import KafkaCluster
from tests.support.network import Network

pytestmark = [pytest.mark.cluster, pytest.mark.network]

Meet = Callable[[str], Place]
IDS = range(1, BROKERS + 1)
# Short, since what cannot work is to be waited for.
IMPATIENT = {
    "request.timeout.ms": 1500,
    "delivery.timeout.ms": 3000,
    "socket.connection.setup.timeout.ms": 800,
}


def advertised(network: Network, kafka: KafkaCluster, scenario: str) -> dict[str, str]:
    """What the brokers tell those who come that way."""
    if scenario == "same_network":
        return {str(i): kafka.nodes[i].address for i in IDS}
    if scenario == "port_per_broker":
        return {str(i): f"{network.wan(1)}:{19000 + i}" for i in IDS}
    return {str(i): f"kafka{i}.ottla.test:{EXTERNAL}" for i in IDS}


@pytest.mark.parametrize(
    "scenario", ["same_network", "external_names", "port_per_broker", "bootstrap_balancer"]
)
def test_clients_reach_all_brokers(
    meet: Meet, topic: str, network: Network, networked_kafka: KafkaCluster, scenario: str
) -> None:
    place = meet(scenario)
    answer = place.agent.do("round_trip", bootstrap=place.bootstrap, topic=topic, config={})
    assert (answer.get("written"), answer.get("read")) == (30, 30), answer
    assert answer["brokers"] == advertised(network, networked_kafka, scenario)
    # One connection a broker, each at its own address.
    assert len(answer["addresses"]) == BROKERS


def test_two_networks_meet_on_one_topic(
    meet: Meet, topic: str, network: Network, networked_kafka: KafkaCluster
) -> None:
    """INTERNAL and EXTERNAL listeners: each client is told the addresses of its own network."""
    brokers = {}
    for count, scenario in ((30, "same_network"), (40, "external_names")):
        place = meet(scenario)
        answer = place.agent.do(
            "round_trip", bootstrap=place.bootstrap, topic=topic, config={}, count=count
        )
        assert answer.get("read") == count, answer
        brokers[scenario] = answer["brokers"]
    assert all(where.startswith("10.213.") for where in brokers["same_network"].values())
    assert all(where.startswith("kafka") for where in brokers["external_names"].values())
    assert sum(networked_kafka.end_offset(topic, p) for p in range(BROKERS)) == 70


def test_internal_addresses_behind_nat_fail_and_name_the_address(
    meet: Meet, topic: str, networked_kafka: KafkaCluster
) -> None:
    place = meet("internal_addresses_behind_nat")
    # Finding the cluster works, which is what makes this so confusing.
    opened = place.agent.do("open", bootstrap=place.bootstrap, config=IMPATIENT)
    assert opened.get("brokers") == {str(i): networked_kafka.nodes[i].address for i in IDS}, opened
    leaders = place.agent.do("leaders", topic=topic)["leaders"]
    answer = place.agent.do("send", topic=topic, partition=0)
    assert answer.get("error") == "TimeoutError", answer
    assert networked_kafka.nodes[leaders[0]].address in answer["message"]
    assert answer["context"]["phase"] == "TCP"
    assert answer["context"]["broker"] == leaders[0]
    assert answer["seconds"] < 40


@pytest.mark.parametrize(
    ("scenario", "where", "phase"),
    [
        ("names_unknown_to_the_client", f"kafka{{}}.ottla.test:{EXTERNAL}", "DNS"),
        ("advertised_localhost", f"localhost:{LOCAL}", "TCP"),
    ],
)
def test_advertised_addresses_of_no_use_are_named(
    meet: Meet, topic: str, scenario: str, where: str, phase: str
) -> None:
    place = meet(scenario)
    opened = place.agent.do("open", bootstrap=place.bootstrap, config=IMPATIENT)
    assert opened.get("brokers") == {str(i): where.format(i) for i in IDS}, opened
    leader = place.agent.do("leaders", topic=topic)["leaders"][0]
    answer = place.agent.do("send", topic=topic, partition=0)
    assert answer.get("error") == "TimeoutError", answer
    assert where.format(leader) in answer["message"]
    assert answer["context"]["phase"] == phase
    assert answer["seconds"] < 40


def test_one_address_for_all_brokers(meet: Meet, topic: str) -> None:
    """A VIP in front of all brokers: each connection may end at any of them, and none is lost."""
    place = meet("one_address_for_all")
    patient = {**IMPATIENT, "request.timeout.ms": 4000, "delivery.timeout.ms": 5000}
    opened = place.agent.do("open", bootstrap=place.bootstrap, config=patient)
    assert opened.get("brokers") == {str(i): f"kafka.ottla.test:{VIP}" for i in IDS}, opened
    for partition in range(BROKERS):
        answer = place.agent.do("send", topic=topic, partition=partition)
        # By luck a connection ends at the leader; by bad luck the leader's name is in the error.
        if "offset" not in answer:
            assert answer["error"] == "TimeoutError"
            assert "NOT_LEADER_OR_FOLLOWER" in answer["message"]
        assert answer["seconds"] < 40
