"""Brokers that are not alive: which bootstrap server they are, and what waits for them."""

from __future__ import annotations

import dataclasses

import pytest

from ottla.doctor.cluster_facts import Broker, Topics
from ottla.doctor.connection_facts import Address, BrokerView, Endpoint, Step, View
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding
from ottla.doctor.flowchart import ends_at, flowchart
from ottla.doctor.state_facts import ClusterState, FencedBroker, Reassignment, Responder
from ottla.doctor.verdict import judge

OK = tuple(Step(check, 0.001) for check in ("TCP", "ApiVersions", "Metadata"))
FENCED = FencedBroker(2, "kafka-2", 9092)


def server(name: str, failed: Step | None = None) -> Endpoint:
    view = View("the-cluster", (BrokerView(1, "kafka-1", 9092),))
    steps = OK if failed is None else (*OK[: 1 if failed.check == "ApiVersions" else 0], failed)
    seen = view if failed is None else None
    address = Address("203.0.113.9", 9092, steps, view=seen)
    return Endpoint(name, 9092, Step("DNS", 0.001), (address,))


def facts(failed: Step, **state: object) -> Facts:
    """Two bootstrap servers of which one fails; broker 2 has replicas and is not alive."""
    working = server("kafka-1")
    topics = Topics(Step("Metadata", 0.001), None, None, 1, 3, missing_brokers=((2, 3),))
    return Facts(
        "PLAINTEXT",
        (working, server("kafka-2", failed)),
        working.addresses[0].view,
        topics,
        (Broker(1, None, 3, working),),
        state=ClusterState((1,), 12.0, **state),  # type: ignore[arg-type]
    )


SILENT = Step("ApiVersions", 5.0, "timed_out", "no response within 5000 ms", attempts=2)
REFUSED = Step("TCP", 0.001, "refused", "connection refused")


def by_code(found: Facts) -> dict[str, Finding]:
    return {finding.code: finding for finding in judge(found)}


def test_a_frozen_bootstrap_server_is_named_and_an_error() -> None:
    """Clients that start at it or are connected to it wait, unlike with one that refuses."""
    found = facts(SILENT, fenced=(FENCED,))
    silent = by_code(found)["silent"]
    assert (silent.severity, silent.brokers) == ("error", (2,))
    assert "bootstrap server kafka-2:9092 (broker 2) accepts connections" in silent.summary
    assert "its process is frozen" in silent.summary
    end = ends_at(flowchart(found))
    assert end is not None
    assert end.phase == "Advertised"
    # Its process has not to be started.
    assert "broker_missing" not in by_code(found)


def test_a_server_whose_data_is_lost_on_the_way_is_not_frozen() -> None:
    found = facts(SILENT, fenced=(FENCED,))
    address = found.bootstrap[1].addresses[0]
    lost = dataclasses.replace(address, responder=Responder(acknowledged=False))
    mute = dataclasses.replace(found.bootstrap[1], addresses=(lost,))
    findings = by_code(dataclasses.replace(found, bootstrap=(found.bootstrap[0], mute)))
    assert findings["silent"].severity == "warning"
    assert "broker_missing" in findings


def test_other_brokers_that_are_missing_are_still_reported() -> None:
    found = facts(SILENT, fenced=(FENCED,))
    assert found.topics is not None
    topics = dataclasses.replace(found.topics, missing_brokers=((2, 3), (3, 1)))
    missing = by_code(dataclasses.replace(found, topics=topics))["broker_missing"]
    assert missing.brokers == (3,)
    assert "broker 3 is down: it has 1 replica" in missing.summary


def test_a_silent_server_that_is_no_known_broker_stays_a_warning() -> None:
    """It may be anything, and clients use the other server."""
    silent = by_code(facts(SILENT))["silent"]
    assert (silent.severity, silent.brokers) == ("warning", ())
    assert "bootstrap server kafka-2:9092 accepts" in silent.summary


def test_a_dead_bootstrap_server_is_named_and_a_warning() -> None:
    found = by_code(facts(REFUSED, fenced=(FENCED,)))
    refused = found["tcp_refused"]
    assert (refused.severity, refused.brokers) == ("warning", ())
    assert "bootstrap server kafka-2:9092 (broker 2) refuses connections" in refused.summary
    assert "broker_missing" in found


@pytest.mark.parametrize(
    ("waiting", "brokers", "summary", "fix"),
    [
        (
            [Reassignment("orders", 0, (2,))],
            (2,),
            "the reassignment of orders-0 waits for broker 2, which is not alive",
            "start broker 2; or cancel it: ottla topics reassign orders:0 --cancel --yes",
        ),
        (
            [Reassignment("orders", 0, (2,)), Reassignment("orders", 1, (2, 4))],
            (2, 4),
            "2 reassignments (orders-0, orders-1) wait for brokers 2, 4, which are not alive",
            "start brokers 2, 4; or cancel them: ottla topics reassign orders:0 --cancel --yes",
        ),
    ],
)
def test_a_reassignment_that_waits_for_a_broker(
    waiting: list[Reassignment], brokers: tuple[int, ...], summary: str, fix: str
) -> None:
    finding = by_code(facts(REFUSED, reassignments=tuple(waiting)))["reassignment_waits"]
    assert (finding.severity, finding.phase) == ("warning", "Leaders")
    assert finding.brokers == brokers
    assert summary in finding.summary
    assert fix in finding.fix
