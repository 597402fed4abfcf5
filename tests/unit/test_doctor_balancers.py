"""Addresses that lead to several clusters or brokers: facts of several connections, one finding."""

from __future__ import annotations

import dataclasses

import pytest

from ottla._internal.style import Style
from ottla.doctor.cluster_facts import Broker, PartitionCheck
from ottla.doctor.connection_facts import Address, BrokerView, Endpoint, Step, View
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding
from ottla.doctor.flowchart import ends_at, flowchart
from ottla.doctor.render import render
from ottla.doctor.report import Report
from ottla.doctor.verdict import judge

A, B = "cluster-a", "cluster-b"


def server(
    name: str,
    cluster: str = A,
    others: tuple[str, ...] = (),
    node: int | None = None,
    nodes: tuple[int | None, ...] = (),
) -> Endpoint:
    """A server that works."""
    checks = ["TCP", "ApiVersions", "Metadata", *(["Identity"] if node is not None else [])]
    steps = tuple(Step(check, 0.001) for check in checks)
    view = View(cluster, (BrokerView(1, name, 9092),))
    address = Address(
        "203.0.113.9",
        9092,
        steps,
        view=view,
        node=node,
        other_clusters=others,
        other_nodes=nodes,
    )
    return Endpoint(name, 9092, Step("DNS", 0.001), (address,))


def facts(bootstrap: list[Endpoint], brokers: list[Endpoint] | None = None) -> Facts:
    found = brokers or [server("broker", node=1)]
    return Facts(
        "PLAINTEXT",
        tuple(bootstrap),
        bootstrap[0].addresses[0].view,
        brokers=tuple(Broker(i, None, 1, each) for i, each in enumerate(found, 1)),
    )


def errors(found: Facts) -> list[Finding]:
    return [finding for finding in judge(found) if finding.severity == "error"]


@pytest.mark.parametrize(
    ("bootstrap", "broker"),
    [
        (server("kafka", others=(B,)), server("broker", node=1)),
        # The first connection led to the cluster at one place, and to the other at another one.
        (server("kafka"), server("kafka", B, node=1)),
        (server("kafka"), server("kafka", B, others=(A,), node=1)),
    ],
)
def test_a_bootstrap_address_of_two_clusters(bootstrap: Endpoint, broker: Endpoint) -> None:
    found = facts([bootstrap], [broker])
    [finding] = errors(found)
    assert (finding.phase, finding.code, finding.brokers) == ("Metadata", "several_clusters", ())
    assert "bootstrap server kafka:9092 leads to brokers of 2 clusters" in finding.summary
    assert "(cluster-a, cluster-b)" in finding.summary
    assert Report(found, judge(found)).exit_code == 8


def test_an_advertised_address_of_two_clusters() -> None:
    found = facts([server("kafka")], [server("broker", others=(B,), node=1)])
    [finding] = errors(found)
    assert (finding.phase, finding.code, finding.brokers) == (
        "Advertised",
        "several_clusters",
        (1,),
    )
    assert "broker 1 advertises broker:9092, which leads to" in finding.summary
    end = ends_at(flowchart(found))
    assert end is not None
    assert end.phase == "Advertised"


def test_two_addresses_of_one_name_in_two_clusters() -> None:
    one, two = server("kafka"), server("kafka", B)
    name = dataclasses.replace(one, addresses=one.addresses + two.addresses)
    assert [finding.code for finding in errors(facts([name]))] == ["several_clusters"]


def test_two_servers_of_two_clusters_are_another_finding() -> None:
    [finding] = errors(facts([server("kafka-a"), server("kafka-b", B)]))
    assert finding.code == "different_clusters"
    assert "kafka-a:9092 to cluster-a; kafka-b:9092 to cluster-b" in finding.summary
    both = errors(facts([server("kafka-a"), server("kafka-b", others=(B,))]))
    assert [finding.code for finding in both] == ["several_clusters"]


@pytest.mark.parametrize(
    ("node", "others", "expected"),
    [
        (1, (2,), "where brokers 1 and 2 respond"),
        (2, (1,), "where brokers 1 and 2 respond"),
        (1, (2, 3), "where brokers 1, 2, 3 respond"),
        (1, (None,), "where broker 1 and another one respond"),
    ],
)
def test_an_advertised_address_of_several_brokers(
    node: int, others: tuple[int | None, ...], expected: str
) -> None:
    found = facts([server("kafka")], [server("broker", node=node, nodes=others)])
    [finding] = errors(found)
    assert (finding.code, finding.phase, finding.brokers) == ("several_brokers", "Advertised", (1,))
    assert f"broker 1 advertises broker:9092, {expected}" in finding.summary
    text = render(found, judge(found), Style())
    assert "✗ broker 1 at broker:9092" in text
    assert f"it is broker {node}; another connection leads to" in text
    assert "another connection leads to" in Report(found, judge(found)).to_html()


def test_an_address_of_several_brokers_that_all_advertise_it_is_one_finding() -> None:
    brokers = [server("kafka", node=1, nodes=(2,)), server("kafka", node=2, nodes=(1,))]
    assert [finding.code for finding in errors(facts([server("kafka")], brokers))] == [
        "one_address_for_all"
    ]


def test_a_partition_is_no_failure_of_a_broker_whose_address_leads_to_two_clusters() -> None:
    step = Step("ListOffsets", 0.001, "code", "it is unknown", "UNKNOWN_TOPIC_OR_PARTITION")
    found = facts([server("kafka")], [server("broker", B, others=(A,), node=1)])
    broker = dataclasses.replace(found.brokers[0], partitions=(PartitionCheck("t", 0, (step,)),))
    assert [finding.code for finding in errors(dataclasses.replace(found, brokers=(broker,)))] == [
        "several_clusters"
    ]
