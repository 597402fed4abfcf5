"""How clients reach brokers on real networks: what works, and clear errors for what cannot."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.network.conftest import BROKERS, EXTERNAL, LOCAL, VIP, ClientSite
from tests.support.kafka_cluster import KafkaCluster
from tests.support.network import Network

pytestmark = [pytest.mark.cluster, pytest.mark.network]

SiteFactory = Callable[[str], ClientSite]
IDS = range(1, BROKERS + 1)
# Short timeouts: the tests wait for failures.
IMPATIENT = {
    "request.timeout.ms": 1500,
    "delivery.timeout.ms": 3000,
    "socket.connection.setup.timeout.ms": 800,
}


def advertised(network: Network, kafka: KafkaCluster, scenario: str) -> dict[str, str]:
    """Return the addresses that brokers advertise in a scenario."""
    if scenario == "same_network":
        return {str(i): kafka.nodes[i].address for i in IDS}
    if scenario == "port_per_broker":
        return {str(i): f"{network.wan(1)}:{19000 + i}" for i in IDS}
    return {str(i): f"kafka{i}.ottla.test:{EXTERNAL}" for i in IDS}


@pytest.mark.parametrize(
    "scenario", ["same_network", "external_names", "port_per_broker", "bootstrap_balancer"]
)
def test_clients_reach_all_brokers(
    site_for: SiteFactory,
    topic: str,
    network: Network,
    networked_kafka: KafkaCluster,
    scenario: str,
) -> None:
    site = site_for(scenario)
    result = site.agent.run("round_trip", bootstrap=site.bootstrap, topic=topic, config={})
    assert (result.get("written"), result.get("read")) == (30, 30), result
    assert result["brokers"] == advertised(network, networked_kafka, scenario)
    # One connection per broker, each at its own address.
    assert len(result["addresses"]) == BROKERS


def test_two_networks_meet_on_one_topic(
    site_for: SiteFactory, topic: str, network: Network, networked_kafka: KafkaCluster
) -> None:
    """INTERNAL and EXTERNAL listeners: each client gets the addresses of its own network."""
    brokers = {}
    for count, scenario in ((30, "same_network"), (40, "external_names")):
        site = site_for(scenario)
        result = site.agent.run(
            "round_trip", bootstrap=site.bootstrap, topic=topic, config={}, count=count
        )
        assert result.get("read") == count, result
        brokers[scenario] = result["brokers"]
    assert all(where.startswith("10.213.") for where in brokers["same_network"].values())
    assert all(where.startswith("kafka") for where in brokers["external_names"].values())
    assert sum(networked_kafka.end_offset(topic, p) for p in range(BROKERS)) == 70


def test_internal_addresses_behind_nat_fail_and_name_the_address(
    site_for: SiteFactory, topic: str, networked_kafka: KafkaCluster
) -> None:
    site = site_for("internal_addresses_behind_nat")
    # Bootstrapping works, which makes this misconfiguration confusing.
    opened = site.agent.run("open", bootstrap=site.bootstrap, config=IMPATIENT)
    assert opened.get("brokers") == {str(i): networked_kafka.nodes[i].address for i in IDS}, opened
    leaders = site.agent.run("leaders", topic=topic)["leaders"]
    result = site.agent.run("send", topic=topic, partition=0)
    assert result.get("error") == "TimeoutError", result
    assert networked_kafka.nodes[leaders[0]].address in result["message"]
    assert result["context"]["phase"] == "TCP"
    assert result["context"]["broker"] == leaders[0]
    assert result["seconds"] < 40


@pytest.mark.parametrize(
    ("scenario", "where", "phase"),
    [
        ("names_unknown_to_the_client", f"kafka{{}}.ottla.test:{EXTERNAL}", "DNS"),
        ("advertised_localhost", f"localhost:{LOCAL}", "TCP"),
    ],
)
def test_unusable_advertised_addresses_are_reported(
    site_for: SiteFactory, topic: str, scenario: str, where: str, phase: str
) -> None:
    site = site_for(scenario)
    opened = site.agent.run("open", bootstrap=site.bootstrap, config=IMPATIENT)
    assert opened.get("brokers") == {str(i): where.format(i) for i in IDS}, opened
    leader = site.agent.run("leaders", topic=topic)["leaders"][0]
    result = site.agent.run("send", topic=topic, partition=0)
    assert result.get("error") == "TimeoutError", result
    assert where.format(leader) in result["message"]
    assert result["context"]["phase"] == phase
    assert result["seconds"] < 40


def test_one_address_for_all_brokers(site_for: SiteFactory, topic: str) -> None:
    """A VIP in front of all brokers: a connection may reach any of them, and none hangs."""
    site = site_for("one_address_for_all")
    patient = {**IMPATIENT, "request.timeout.ms": 4000, "delivery.timeout.ms": 5000}
    opened = site.agent.run("open", bootstrap=site.bootstrap, config=patient)
    assert opened.get("brokers") == {str(i): f"kafka.ottla.test:{VIP}" for i in IDS}, opened
    for partition in range(BROKERS):
        result = site.agent.run("send", topic=topic, partition=partition)
        # If the connection does not reach the leader, the error says so.
        if "offset" not in result:
            assert result["error"] == "TimeoutError"
            assert "NOT_LEADER_OR_FOLLOWER" in result["message"]
        assert result["seconds"] < 40
