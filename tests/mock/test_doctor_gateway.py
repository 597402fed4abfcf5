"""The doctor through a gateway: it finds nothing wrong, and says that there is one.

Invariant: a cluster that is reached directly is not taken for one behind a gateway.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import ottla
from ottla.doctor import Report
from ottla.doctor.checks.gateways import judge_gateway
from ottla.doctor.connection_facts import Endpoint
from ottla.doctor.facts import Facts
from ottla.doctor.own_addresses import addresses_of
from ottla.testing import Fault, Gateway, MockCluster
from tests.support.golden import Replacements, check_golden, render_golden
from tests.support.ports import free_ports
from tests.support.verdicts import check_verdict


@pytest.fixture
def gateway(mock_cluster: MockCluster) -> Iterator[Gateway]:
    mock_cluster.create_topic("orders", partitions=3)
    with Gateway(mock_cluster.bootstrap) as gateway:
        yield gateway


def _check(report: Report, cluster: MockCluster, gateway: Gateway) -> None:
    """Compare a report with its golden text, in which all ports are the usual ones."""
    ports = {_port(at): 9091 + broker for broker, at in cluster.brokers.items()}
    ports |= {_port(at): 19093 + broker for broker, at in gateway.brokers.items()}
    shown = Replacements({**ports, _port(gateway.bootstrap): 19092})
    check_golden("doctor/gateway", render_golden(report.to_dict(), shown))


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


def _summaries(report: Report) -> dict[str, str]:
    """Return the findings that are not about the speed of this machine."""
    return {f.code: f.summary for f in report.findings if not f.code.startswith("slow_")}


def _without_mark(facts: Facts) -> Facts:
    """Return the facts as another proxy that replaces addresses makes them."""

    def plain(endpoint: Endpoint) -> Endpoint:
        addresses = tuple(replace(address, gateway=None) for address in endpoint.addresses)
        return replace(endpoint, addresses=addresses)

    return replace(
        facts,
        bootstrap=tuple(plain(server) for server in facts.bootstrap),
        brokers=tuple(replace(each, endpoint=plain(each.endpoint)) for each in facts.brokers),
    )


def test_nothing_is_wrong_and_the_addresses_are_a_gateways(
    mock_cluster: MockCluster, gateway: Gateway
) -> None:
    report = ottla.diagnose(gateway.bootstrap, topic="orders", group="billing")
    assert report.exit_code == 0
    assert report.facts.bootstrap[0].addresses[0].gateway == ottla.__version__
    assert {f.severity for f in report.findings if not f.code.startswith("slow_")} == {"note"}
    found = _summaries(report)
    assert found.keys() == {"gateway", "only_from_here", "one_bootstrap_server"}
    for broker, address in mock_cluster.brokers.items():
        assert f"broker {broker} itself advertises {address}" in found["gateway"]
    [certain] = judge_gateway(report.facts)
    assert certain.certainty == "certain"
    [likely] = judge_gateway(_without_mark(report.facts))
    assert likely.certainty == "likely"
    assert likely.brokers == certain.brokers == (1, 2, 3)
    assert likely.summary.startswith("these addresses look like those of a gateway, or of another")
    for broker, address in gateway.brokers.items():
        assert f"broker {broker} is at {address}" in found["only_from_here"]
    assert "while this gateway is down" in found["one_bootstrap_server"]
    _check(report, mock_cluster, gateway)


@pytest.mark.parametrize(
    "rules", [{"read_only": True}, {"no_admin": True}, {"allow_topics": ["orders"]}], ids=str
)
def test_a_gateway_with_rules(mock_cluster: MockCluster, rules: dict[str, Any]) -> None:
    for name in ("orders", "payments"):
        mock_cluster.create_topic(name, partitions=3)
    with Gateway(mock_cluster.bootstrap, **rules) as gateway:
        for topic in ("orders", None):
            found = _summaries(ottla.diagnose(gateway.bootstrap, topic=topic))
            assert found.keys() == {"gateway", "only_from_here", "one_bootstrap_server"}


def test_a_cluster_without_a_gateway(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("orders", partitions=3)
    report = ottla.diagnose(mock_cluster.bootstrap, topic="orders")
    assert _summaries(report).keys() == {"only_from_here"}


def test_brokers_whose_configuration_may_not_be_seen(
    mock_cluster: MockCluster, gateway: Gateway
) -> None:
    """Without the permission only the gateway itself says that there is one."""
    mock_cluster.inject(
        Fault.error("TOPIC_AUTHORIZATION_FAILED"), api="DescribeConfigs", times=None
    )
    report = ottla.diagnose(gateway.bootstrap, topic="orders")
    assert report.ok
    expected = f"the brokers are behind ottla gateway {ottla.__version__}"
    assert _summaries(report)["gateway"] == expected
    # One host with a port a broker may be a cluster.
    assert not list(judge_gateway(_without_mark(report.facts)))


def test_a_broker_that_the_gateway_cannot_reach(
    mock_cluster: MockCluster, gateway: Gateway
) -> None:
    # It has its address, though no broker listens there any longer.
    mock_cluster.advertise(2, f"127.0.0.1:{free_ports(1)[0]}")
    report = ottla.diagnose(gateway.bootstrap, topic="orders", timeout=10)
    [error] = [f for f in report.findings if f.severity == "error"]
    assert (error.code, error.brokers) == ("unreachable_behind_gateway", (2,))
    assert gateway.brokers[2] in error.summary
    assert report.exit_code == 9
    shown = {gateway.brokers[2]: "gateway.example.com:19095"}
    check_verdict("gateway_broker_down", report, error.code, shown)


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        ({"advertised.listeners": "PLAINTEXT://kafka1:9092"}, (("kafka1", 9092),)),
        (
            {"advertised.listeners": "A://kafka1:9092, B://[::1]:9093"},
            (("kafka1", 9092), ("::1", 9093)),
        ),
        ({"advertised.listeners": None, "listeners": "A://kafka1:9092"}, (("kafka1", 9092),)),
        ({"advertised.listeners": "", "listeners": "A://kafka1:9092"}, (("kafka1", 9092),)),
        # The broker fills in the name of its machine, which is not in its configuration.
        ({"listeners": "A://:9092"}, ()),
        ({"listeners": "A://0.0.0.0:9092"}, ()),
        ({"listeners": "A://[::]:9092"}, ()),
        ({"advertised.listeners": "A://kafka1:9092,B://:9093"}, ()),
        ({"advertised.listeners": "what a server of another kind may return"}, ()),
        ({}, ()),
    ],
)
def test_the_addresses_in_a_configuration(
    configs: dict[str, str | None], expected: tuple[tuple[str, int], ...]
) -> None:
    assert addresses_of(configs) == expected
