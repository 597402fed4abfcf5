"""The flowchart as a table: facts in, boxes out; it ends where a client with these facts fails."""

from __future__ import annotations

import dataclasses
import time

import pytest

from ottla.doctor.cluster_facts import Coordinator, PartitionCheck, Quorum, Topics, Voter
from ottla.doctor.connection_facts import Address, Endpoint, Step, Tls
from ottla.doctor.facts import Facts
from ottla.doctor.findings import EXIT_CODES
from ottla.doctor.flowchart import QUESTIONS, Box, ends_at, flowchart
from ottla.doctor.report import Report
from ottla.doctor.verdict import judge
from tests.unit.test_doctor_verdict import BOOTSTRAP, endpoint, facts, step, view

STATES = {"passed", "warning", "failed", "not_reached", "not_used"}


def server(*steps: Step, protocol: str = "PLAINTEXT", **more: object) -> Facts:
    """A single bootstrap server whose only address ends with a failed step."""
    address = Address(BOOTSTRAP, 9092, steps, **more)  # type: ignore[arg-type]
    return Facts(protocol, (Endpoint("kafka.example.com", 9092, step("DNS"), (address,)),))


def states(boxes: tuple[Box, ...]) -> dict[str, str]:
    return {box.phase: box.state for box in boxes}


def healthy(**more: object) -> Facts:
    """A cluster in which each phase passes, with a checked partition, a group and a quorum."""
    seen = facts([endpoint("a.example.com"), endpoint("b.example.com")])
    checked = PartitionCheck("t", 0, (step("ListOffsets"), step("Fetch")), 0, 7)
    brokers = tuple(dataclasses.replace(broker, partitions=(checked,)) for broker in seen.brokers)
    base = dataclasses.replace(
        seen,
        bootstrap=(endpoint("a.example.com"), endpoint("b.example.com")),
        brokers=brokers,
        coordinator=Coordinator("billing", (step("FindCoordinator"),), 2, "Stable", 3),
        quorum=Quorum((step("DescribeQuorum"),), 1, (Voter(1, 0), Voter(2, 0))),
    )
    return dataclasses.replace(base, **more)  # type: ignore[arg-type]


OK, SHAKEN = step("TCP"), step("TLS")
BROKEN = [
    (Facts("PLAINTEXT", (endpoint("x.invalid", step("DNS", "unresolved")),)), "DNS", "unresolved"),
    (server(step("TCP", "refused")), "TCP", "tcp_refused"),
    (server(step("TCP", "timed_out")), "TCP", "tcp_timed_out"),
    (server(OK, step("TLS", "speaks_plaintext"), protocol="SSL"), "TLS", "speaks_plaintext"),
    (server(OK, step("TLS", "certificate_issuer"), protocol="SSL"), "TLS", "certificate_issuer"),
    # Found in the next step, but it is TLS that is configured wrongly.
    (server(OK, step("ApiVersions", "speaks_tls")), "TLS", "speaks_tls"),
    (server(OK, step("ApiVersions", "speaks_http")), "ApiVersions", "speaks_http"),
    (server(OK, step("ApiVersions", "not_kafka")), "ApiVersions", "not_kafka"),
    (
        server(OK, step("ApiVersions"), step("SASL", "credentials"), protocol="SASL_PLAINTEXT"),
        "SASL",
        "credentials",
    ),
    (server(OK, step("ApiVersions"), step("Metadata", "wants_sasl")), "SASL", "wants_sasl"),
    (
        server(OK, step("ApiVersions"), step("Metadata", "controller_port")),
        "Metadata",
        "controller_port",
    ),
    (facts([endpoint("10.0.1.5", step("TCP", "timed_out"))]), "Advertised", "advertised_private"),
    (
        healthy(topics=Topics(step("Metadata"), "t", None, 1, 3, (("t", 1),), 1)),
        "Leaders",
        "leaderless",
    ),
    (
        healthy(coordinator=Coordinator("billing", (step("FindCoordinator", "code"),))),
        "Coordinators",
        "coordinator_fails",
    ),
    (healthy(quorum=Quorum((step("DescribeQuorum", "timed_out"),))), "Controllers", "no_quorum"),
]


@pytest.mark.parametrize(
    ("seen", "phase", "code"), BROKEN, ids=[f"{phase}-{code}" for _, phase, code in BROKEN]
)
def test_the_chart_ends_where_the_client_fails(seen: Facts, phase: str, code: str) -> None:
    boxes = flowchart(seen)
    assert [box.phase for box in boxes] == list(EXIT_CODES)
    end = ends_at(boxes)
    assert end is not None
    assert (end.phase, end.findings[0].code) == (phase, code)
    assert end.cause == end.findings[0].summary
    assert end.remedy
    assert EXIT_CODES[end.phase] == Report(seen, judge(seen)).exit_code
    before = boxes[: boxes.index(end)]
    assert {box.state for box in before} <= {"passed", "warning", "not_used"}


def test_nothing_after_a_failed_bootstrap_server_is_reached() -> None:
    seen = server(OK, step("ApiVersions", "closed"))
    expected = dict.fromkeys(EXIT_CODES, "not_reached") | {
        "DNS": "passed",
        "TCP": "passed",
        "TLS": "not_used",
        "ApiVersions": "failed",
        "SASL": "not_used",
    }
    boxes = flowchart(seen)
    assert states(boxes) == expected
    assert all(box.detail == "" for box in boxes if box.state == "not_reached")


def test_a_healthy_cluster_has_no_end() -> None:
    boxes = flowchart(healthy())
    assert ends_at(boxes) is None
    not_used = {"TLS": "not_used", "SASL": "not_used"}
    assert states(boxes) == dict.fromkeys(EXIT_CODES, "passed") | not_used
    details = {box.phase: box.detail for box in boxes}
    assert details == {
        "DNS": "2 addresses within 1 ms",
        "TCP": "2 connections within 1 ms",
        "TLS": "not used: security.protocol is PLAINTEXT",
        "ApiVersions": "2 responses within 1 ms",
        "SASL": "not used: security.protocol is PLAINTEXT",
        "Metadata": "2 brokers, 1 topic, 2 partitions, 2 responses within 1 ms",
        "Advertised": "2 brokers, every step within 1 ms",
        "Leaders": "2 partitions within 1 ms",
        "Coordinators": "group billing at broker 2, Stable, 3 members",
        "Controllers": "quorum of 1, 2; 1 leads",
    }
    assert all(box.cause == box.remedy == "" for box in boxes)


def test_without_a_group_and_without_a_quorum_nothing_is_checked_there() -> None:
    boxes = flowchart(healthy(coordinator=None, quorum=None))
    found = states(boxes)
    assert (found["Coordinators"], found["Controllers"]) == ("not_used", "not_used")
    empty = flowchart(facts([endpoint("a.example.com")], topics=Topics(step("Metadata"))))
    assert states(empty)["Leaders"] == "not_used"


def test_a_dead_server_among_working_ones_is_a_warning_in_its_box() -> None:
    dead = endpoint("c.example.com", step("TCP", "refused"))
    seen = healthy()
    boxes = flowchart(dataclasses.replace(seen, bootstrap=(*seen.bootstrap, dead)))
    assert ends_at(boxes) is None
    tcp = boxes[1]
    assert (tcp.state, tcp.detail) == ("warning", "2 of 3 connections within 1 ms")
    assert "c.example.com:9092" in tcp.cause
    assert tcp.remedy


def test_details_of_tls_and_sasl() -> None:
    tls = Tls("TLSv1.3", subject="CN=kafka", not_after=time.time() + 90 * 86400)
    steps = (OK, SHAKEN, step("ApiVersions"), step("SASL", "credentials"))
    seen = server(*steps, protocol="SASL_SSL", tls=tls, release="3.9")
    details = {box.phase: box.detail for box in flowchart(seen)}
    assert details["TLS"].startswith("TLSv1.3, CN=kafka, until 20")
    assert details["TLS"].endswith("1 handshake in 1 ms")
    assert details["ApiVersions"] == "Kafka 3.9 or newer, 1 response in 1 ms"
    assert details["SASL"] == "it failed (credentials)"


def test_a_failed_handshake_at_an_advertised_address_ends_there() -> None:
    """The bootstrap server has passed TLS, so the box of TLS passed; the exit code is TLS's."""
    steps = (OK, SHAKEN, step("ApiVersions"), step("Metadata"))
    works = Address(BOOTSTRAP, 9092, steps, view=view("b.example.com"))
    refused = Address("203.0.113.7", 9092, (OK, step("TLS", "certificate_name")))
    seen = dataclasses.replace(
        facts([Endpoint("b.example.com", 9092, step("DNS"), (refused,))]),
        security_protocol="SSL",
        bootstrap=(Endpoint(BOOTSTRAP, 9092, step("DNS"), (works,)),),
    )
    boxes = flowchart(seen)
    end = ends_at(boxes)
    assert end is not None
    assert (end.phase, end.findings[0].code) == ("Advertised", "certificate_name")
    assert states(boxes)["TLS"] == "passed"
    assert Report(seen, judge(seen)).exit_code == EXIT_CODES["TLS"]


def test_a_check_that_ran_out_of_time_is_not_a_failure() -> None:
    seen = server(OK, step("ApiVersions", "out_of_time"))
    boxes = flowchart(seen)
    assert ends_at(boxes) is None
    found = states(boxes)
    assert (found["TCP"], found["ApiVersions"]) == ("warning", "not_reached")


def test_a_report_keeps_its_own_findings() -> None:
    """A report is judged when it is made, not when it is drawn."""
    tls = Tls("TLSv1.3", subject="CN=kafka", not_after=1_000_000.0)
    good = Address(BOOTSTRAP, 9092, (OK, SHAKEN, step("ApiVersions"), step("Metadata")), tls)
    seen = Facts("SSL", (Endpoint(BOOTSTRAP, 9092, step("DNS"), (good,)),))
    report = Report(seen, judge(seen, now=1_000_000.0 - 86400))
    assert states(flowchart(report))["TLS"] == "warning"
    assert states(flowchart(seen))["TLS"] == "passed"


def test_each_phase_has_a_question_in_plain_english() -> None:
    assert list(QUESTIONS) == list(EXIT_CODES)
    assert all(question.endswith("?") for question in QUESTIONS.values())
