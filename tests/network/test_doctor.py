"""The doctor on real networks: it reports each misconfiguration, and no healthy network.

Its output is in tests/golden/doctor/network.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.network.conftest import BROKERS, ClientSite
from tests.support.golden import Replacements, check_golden, render_golden
from tests.support.kafka_cluster import KafkaCluster
from tests.support.network import Network

pytestmark = [pytest.mark.cluster, pytest.mark.network]

SiteFactory = Callable[[str], ClientSite]
# Timeouts of a step without a response, and of all steps: on a busy machine, some are late.
STEP_MS, TIMEOUT = 3000, 45


def diagnose(site: ClientSite, topic: str) -> dict[str, Any]:
    """Run `ottla doctor` at a site, and return its report."""
    arguments = ["doctor", site.bootstrap, "--topic", topic, "--timeout", str(TIMEOUT), "--json"]
    options = ["-X", f"socket.connection.setup.timeout.ms={STEP_MS}"]
    done = site.host.run([sys.executable, "-m", "ottla", *arguments, *options])
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == report["exit_code"]
    return report


def found(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the findings without advice, and without slowness, which the machine causes."""
    findings = [
        finding
        for finding in report["findings"]
        if not finding["code"].startswith("slow_") and finding["severity"] != "note"
    ]
    return [(finding["severity"], finding["code"]) for finding in findings]


@pytest.fixture
def replacements(network: Network, networked_kafka: KafkaCluster, topic: str) -> Replacements:
    """Show the networks as 10.213.0.0/24 and 198.18.0.0/24, internal ports as 29091, 29092, …"""
    subnets = {network.lan(0)[:-1]: "10.213.0.", network.wan(0)[:-1]: "198.18.0."}
    ports = {node.port: 29090 + i for i, node in networked_kafka.nodes.items()}
    return Replacements(ports, {**subnets, topic: "orders"})


@pytest.mark.parametrize(
    "scenario", ["same_network", "external_names", "port_per_broker", "bootstrap_balancer"]
)
def test_a_healthy_network_has_no_findings(
    site_for: SiteFactory, topic: str, scenario: str
) -> None:
    report = diagnose(site_for(scenario), topic)
    assert found(report) == [], report["findings"]
    assert report["exit_code"] == 0
    brokers = report["facts"]["brokers"]
    assert [b["endpoint"]["addresses"][0]["node"] for b in brokers] == [1, 2, 3]
    steps = [s for b in brokers for p in b["partitions"] for s in p["steps"]]
    assert [step["check"] for step in steps] == ["ListOffsets", "Fetch"] * BROKERS


@pytest.mark.parametrize(
    ("scenario", "code"),
    [
        ("internal_addresses_behind_nat", "advertised_private"),
        ("names_unknown_to_the_client", "advertised_unresolved"),
        ("advertised_localhost", "advertised_loopback"),
    ],
)
def test_unusable_advertised_addresses_are_reported(
    site_for: SiteFactory, topic: str, replacements: Replacements, scenario: str, code: str
) -> None:
    report = diagnose(site_for(scenario), topic)
    assert found(report) == [("error", code)], report["findings"]
    assert report["findings"][0]["brokers"] == [1, 2, 3]
    assert report["exit_code"] == 9
    check_golden(f"doctor/network/{scenario}", render_golden(report, replacements))


def test_one_address_for_all_brokers(
    site_for: SiteFactory, topic: str, replacements: Replacements
) -> None:
    """Each connection reaches a random broker, but the verdict always names the address."""
    site = site_for("one_address_for_all")
    orders: list[list[int]] = []
    # The golden text shows one of the six orders of three connections.
    while [2, 3, 1] not in orders:
        assert len(orders) < 100, orders
        report = diagnose(site, topic)
        assert found(report) == [("error", "one_address_for_all")], report["findings"]
        assert report["exit_code"] == 9
        assert "kafka.ottla.test:9095" in report["findings"][0]["summary"]
        orders.append([b["endpoint"]["addresses"][0]["node"] for b in report["facts"]["brokers"]])
    check_golden("doctor/network/one_address_for_all", render_golden(report, replacements))


@pytest.mark.parametrize("fault", ["blackhole", "reject", "mute", "narrow"])
def test_one_broker_cannot_be_reached(
    site_for: SiteFactory, topic: str, network: Network, replacements: Replacements, fault: str
) -> None:
    """Packets are dropped, connections are rejected, half-open, or lose large packets."""
    site = site_for("external_names")
    getattr(network, fault)(network.broker_address(2))
    report = diagnose(site, topic)
    error, bootstrap = {
        "blackhole": ("broker_unreachable", "tcp_timed_out"),
        "reject": ("broker_unreachable", "tcp_refused"),
        "mute": ("silent", "silent"),
        # The requests of the bootstrap are small.
        "narrow": ("large_requests_lost", None),
    }[fault]
    expected = [("error", error), *([("warning", bootstrap)] if bootstrap else [])]
    assert found(report) == expected, report["findings"]
    assert report["findings"][0]["brokers"] == [2]
    check_golden(f"doctor/network/{fault}", render_golden(report, replacements))


@pytest.mark.parametrize("brokers", [[2], [1, 2, 3]])
def test_a_path_with_an_mtu_of_900(
    site_for: SiteFactory,
    topic: str,
    network: Network,
    replacements: Replacements,
    brokers: list[int],
) -> None:
    """True cause: the path to these brokers drops packets of more than 900 bytes."""
    site = site_for("external_names")
    network.tunnel(*(network.broker_address(broker) for broker in brokers))
    report = diagnose(site, topic)
    errors = [each for each in report["findings"] if each["severity"] == "error"]
    # If all paths are narrow, no bootstrap server returns the brokers.
    known = [[2]] if brokers == [2] else [[], [], []]
    assert [each["brokers"] for each in errors] == known, report["findings"]
    assert {each["code"] for each in errors} == {"large_requests_lost"}
    assert {each["certainty"] for each in errors} == {"certain"}
    name = "mtu_900" if len(brokers) == 1 else "mtu_900_everywhere"
    check_golden(f"doctor/network/{name}", render_golden(report, replacements))


def test_the_only_bootstrap_server_is_behind_a_firewall(
    site_for: SiteFactory, topic: str, network: Network, replacements: Replacements
) -> None:
    """All brokers' packets are dropped: nothing of the cluster is known."""
    site = site_for("port_per_broker")
    network.blackhole(*(network.broker_address(i) for i in range(1, BROKERS + 1)))
    report = diagnose(site, topic)
    assert found(report) == [("error", "tcp_timed_out")], report["findings"]
    assert report["exit_code"] == 4
    check_golden("doctor/network/bootstrap_blackholed", render_golden(report, replacements))
