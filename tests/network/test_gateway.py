"""Clients outside reach the brokers through a gateway on one host, to which the router forwards.

The gateway is the command of docs/guides/gateway.md.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from tests.network.conftest import BROKERS, EXTERNAL, ClientSite
from tests.network.test_scenarios import IMPATIENT
from tests.support.gateway_guide import example
from tests.support.gateway_process import GatewayProcess
from tests.support.jars import REPOSITORY
from tests.support.kafka_cluster import KafkaCluster
from tests.support.network import Network

pytestmark = [pytest.mark.cluster, pytest.mark.network]

SiteFactory = Callable[[str], ClientSite]
GUIDE = REPOSITORY / "docs" / "guides" / "gateway.md"
SERVERS = ",".join(f"kafka{n}.ottla.test:{EXTERNAL}" for n in (1, 2))
NAMES = ("gateway.example.com", "gateway2.example.com")


def arguments_of_the_guide(name: str) -> list[str]:
    """Return the arguments of the guide's first gateway, with this cluster and a host's name."""
    command = r"^ottla gateway (kafka1:9092,kafka2:9092 .*)$"
    found = re.search(command, GUIDE.read_text(), re.MULTILINE)
    assert found is not None
    servers, *arguments = shlex.split(found[1])
    assert servers == "kafka1:9092,kafka2:9092"
    return [SERVERS, *(name if word == NAMES[0] else word for word in arguments)]


def rule_of_the_guide(outside: str, inside: str) -> str:
    """Return the router's rule, with its address outside and that of the gateway's host."""
    _, rule, _ = example("Through NAT")
    for printed, here in {
        "203.0.113.7": outside,
        "10.0.0.60": inside,
        "ip nat": "ip ottla",
    }.items():
        assert rule.count(printed) == 1, rule
        rule = rule.replace(printed, here)
    return rule.removeprefix("nft ")


@pytest.fixture(scope="module")
def gateways(network: Network, networked_kafka: KafkaCluster) -> Iterator[list[GatewayProcess]]:
    """Provide two gateways on hosts of their own, each behind an address of the router."""
    with ExitStack() as running:
        started = []
        for number, name in enumerate(NAMES):
            # Inside, the brokers' names lead to the brokers.
            host = network.add_host(f"gateway{number + 1}", "lan", 60 + number)
            at = network.broker_address
            host.name_service({f"kafka{n}.ottla.test": at(n) for n in range(1, BROKERS + 1)})
            network.forward_by(
                20 + number, rule_of_the_guide(network.wan(20 + number), network.lan(60 + number))
            )
            # The broker 0 would have the port 19093.
            brokers = {n: f"{name}:{19093 + n}" for n in range(1, BROKERS + 1)}
            arguments = arguments_of_the_guide(name)
            gateway = GatewayProcess(arguments, f"{name}:19092", brokers, host.exec_prefix)
            started.append(running.enter_context(gateway))
        yield started


@pytest.fixture
def site(
    network: Network, site_for: SiteFactory, gateways: list[GatewayProcess]
) -> Iterator[ClientSite]:
    """Provide the client's site outside, where only the gateways' names are known."""
    before = site_for("external_names")
    network.outside.name_service({name: network.wan(20 + n) for n, name in enumerate(NAMES)})
    yield replace(before, bootstrap=gateways[0].bootstrap)
    names = {f"kafka{i}.ottla.test": network.wan(10 + i) for i in range(1, BROKERS + 1)}
    network.outside.name_service({**names, "kafka.ottla.test": network.wan(6)})


def test_the_brokers_cannot_be_reached(site: ClientSite, networked_kafka: KafkaCluster) -> None:
    result = site.agent.run("open", bootstrap=networked_kafka.bootstrap, config=IMPATIENT)
    assert "error" in result, result


def test_records_and_groups(site: ClientSite, gateways: list[GatewayProcess], topic: str) -> None:
    servers, name = {"bootstrap": site.bootstrap}, f"gateway-{uuid.uuid4().hex[:8]}"
    result = site.agent.run("round_trip", **servers, topic=topic, config={})
    assert (result.get("written"), result.get("read")) == (30, 30), result
    assert result["brokers"] == {str(n): at for n, at in gateways[0].brokers.items()}
    assert len(result["addresses"]) == BROKERS
    for protocol in ("classic", "consumer"):
        group = f"{name}-{protocol}"
        result = site.agent.run(
            "group", **servers, topic=topic, name=group, protocol=protocol, count=30
        )
        assert (result.get("read"), result.get("committed")) == (30, 30), result


def test_transactions(site: ClientSite, topic: str) -> None:
    name = f"gateway-{uuid.uuid4().hex[:8]}"
    result = site.agent.run("transactions", bootstrap=site.bootstrap, topic=topic, name=name)
    assert result.get("values") == [f"{number}-{n}" for number in (0, 2) for n in range(10)], result


def test_the_doctor_finds_nothing_but_the_gateway(site: ClientSite, topic: str) -> None:
    arguments = ["doctor", site.bootstrap, "--topic", topic, "--timeout", "45", "--json"]
    done = site.host.run([sys.executable, "-m", "ottla", *arguments])
    assert done.stdout, done.stderr
    findings = json.loads(done.stdout)["findings"]
    assert "gateway" in {finding["code"] for finding in findings}
    assert not [
        finding
        for finding in findings
        if finding["severity"] != "note" and not finding["code"].startswith("slow_")
    ]
    assert done.returncode == 0


def test_one_of_two_gateways_dies(
    site: ClientSite, gateways: list[GatewayProcess], topic: str
) -> None:
    both = ",".join(gateway.bootstrap for gateway in gateways)
    site.agent.run("open", bootstrap=both, config={"reconnect.backoff.max.ms": 500})
    for dead in gateways:
        for partition in range(BROKERS):
            result = site.agent.run("send", topic=topic, partition=partition)
            assert "offset" in result, result
        dead.kill()
        for partition in range(BROKERS):
            result = site.agent.run("send", topic=topic, partition=partition)
            assert "offset" in result, result
        dead.start()
