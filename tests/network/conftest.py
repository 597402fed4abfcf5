"""Three brokers in separate networks, and the ways in which clients reach them.

A broker has a listener for each way, so one cluster serves all scenarios in `SCENARIOS`. The
fixture `site_for` returns the client's host and its bootstrap servers in a scenario.
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.jars import REPOSITORY
from tests.support.kafka_cluster import Host, KafkaCluster
from tests.support.kafka_node import KafkaNode
from tests.support.kafka_properties import FAST_FAILOVER
from tests.support.namespaces import Namespace
from tests.support.network import Network

BROKERS = 3
EXTERNAL, PORTS, VIP, LOCAL = 9093, 9094, 9095, 9096
_SMALL = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

# The client's side of the router in each scenario.
SCENARIOS = {
    "same_network": "inside",
    "external_names": "outside",
    "port_per_broker": "outside",
    "bootstrap_balancer": "outside",
    # Misconfigurations, in which clients cannot reach the brokers.
    "internal_addresses_behind_nat": "outside",
    "one_address_for_all": "outside",
    "names_unknown_to_the_client": "inside",
    "advertised_localhost": "inside",
}


@dataclass
class ClientSite:
    """The host of a client, and its bootstrap servers."""

    host: Namespace
    bootstrap: str
    agent: Agent


class Agent:
    """A process of tests/network/agent.py on a host."""

    def __init__(self, host: Namespace) -> None:
        self._process = subprocess.Popen(
            [*host.exec_prefix, sys.executable, "-m", "tests.network.agent"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
        )

    def start(self, job: str, **arguments: Any) -> Callable[[], dict[str, Any]]:
        """Start a job; return a function that waits for its result."""
        assert self._process.stdin is not None
        print(json.dumps([job, arguments]), file=self._process.stdin, flush=True)
        return self._read_result

    def run(self, job: str, **arguments: Any) -> dict[str, Any]:
        """Run a job and return its result."""
        return self.start(job, **arguments)()

    def close(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.communicate()

    def _read_result(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the agent ended; its output is above"
        result: dict[str, Any] = json.loads(line)
        return result


@pytest.fixture(scope="session")
def network() -> Iterator[Network]:
    """Provide the networks, without brokers."""
    with Network(BROKERS) as network:
        names = {f"kafka{i}.ottla.test": network.wan(10 + i) for i in range(1, BROKERS + 1)}
        network.outside.name_service({**names, "kafka.ottla.test": network.wan(6)})
        network.inside.name_service({})
        yield network


@pytest.fixture(scope="session")
def networked_kafka(network: Network) -> Iterator[KafkaCluster]:
    """Provide the brokers, with a listener for each way to reach them."""
    places = range(1, BROKERS + 1)

    def listeners(node: KafkaNode) -> dict[str, str]:
        i, named = node.node_id, node.properties
        other = {
            "EXTERNAL": (EXTERNAL, f"kafka{i}.ottla.test:{EXTERNAL}"),
            "PORTS": (PORTS, f"{network.wan(1)}:{19000 + i}"),
            "VIP": (VIP, f"kafka.ottla.test:{VIP}"),
            "LOCAL": (LOCAL, f"localhost:{LOCAL}"),
        }
        bound = [f"{name}://{node.host}:{port}" for name, (port, _) in other.items()]
        advertised = [f"{name}://{where}" for name, (_, where) in other.items()]
        plain = [f"{name}:PLAINTEXT" for name in (*other, "PLAINTEXT", "CONTROLLER")]
        return {
            **FAST_FAILOVER,
            "listeners": ",".join([named["listeners"], *bound]),
            "advertised.listeners": ",".join([named["advertised.listeners"], *advertised]),
            "listener.security.protocol.map": ",".join(plain),
            "inter.broker.listener.name": "PLAINTEXT",
        }

    hosts = [Host(network.broker_address(i), network.brokers[i - 1].exec_prefix) for i in places]
    with KafkaCluster(BROKERS, listeners, jvm=_SMALL, hosts=hosts) as kafka:
        yield kafka


@pytest.fixture(scope="session")
def agents(network: Network) -> Iterator[dict[str, Agent]]:
    """Provide an agent inside and one outside."""
    agents = {"inside": Agent(network.inside), "outside": Agent(network.outside)}
    yield agents
    for agent in agents.values():
        agent.close()


@pytest.fixture(scope="session")
def bootstraps(network: Network, networked_kafka: KafkaCluster) -> dict[str, str]:
    """Configure the router, and return the bootstrap servers of each scenario."""
    places = range(1, BROKERS + 1)
    at = network.broker_address
    nodes = networked_kafka.nodes
    for i in places:
        network.forward(10 + i, EXTERNAL, [(at(i), EXTERNAL)])
        network.forward(1, 19000 + i, [(at(i), PORTS)])
    return {
        "same_network": networked_kafka.bootstrap,
        "external_names": ",".join(f"kafka{i}.ottla.test:{EXTERNAL}" for i in places),
        "port_per_broker": f"{network.wan(1)}:19001",
        "bootstrap_balancer": network.forward(5, 9092, [(at(i), EXTERNAL) for i in places]),
        "internal_addresses_behind_nat": network.forward(1, 9092, [(at(1), nodes[1].port)]),
        "one_address_for_all": (
            network.forward(6, VIP, [(at(i), VIP) for i in places]) and f"kafka.ottla.test:{VIP}"
        ),
        "names_unknown_to_the_client": f"{at(1)}:{EXTERNAL}",
        "advertised_localhost": f"{at(1)}:{LOCAL}",
    }


@pytest.fixture
def site_for(
    network: Network, bootstraps: dict[str, str], agents: dict[str, Agent]
) -> Iterator[Callable[[str], ClientSite]]:
    """Provide the client's site in a scenario; restores the network afterwards."""

    def site(scenario: str) -> ClientSite:
        side = SCENARIOS[scenario]
        host = network.inside if side == "inside" else network.outside
        return ClientSite(host, bootstraps[scenario], agents[side])

    yield site
    network.heal()
    for agent in agents.values():
        agent.run("close")


@pytest.fixture
def topic(networked_kafka: KafkaCluster) -> str:
    """Create a topic with a partition on each broker: 0 on broker 1, and so on."""
    name = f"network-{uuid.uuid4().hex[:8]}"
    networked_kafka.create_topic_led_by(name, range(1, BROKERS + 1))
    return name
