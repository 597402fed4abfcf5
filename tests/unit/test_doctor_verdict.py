"""The verdict as a table: facts in, findings out, without a network."""

from __future__ import annotations

import dataclasses

import pytest

from ottla._internal.style import Style
from ottla.doctor.checks.addresses import kind_of
from ottla.doctor.cluster_facts import Broker, Coordinator, OpenTransaction, PartitionCheck, Topics
from ottla.doctor.connection_facts import Address, BrokerView, Endpoint, Step, View
from ottla.doctor.facts import Facts
from ottla.doctor.findings import EXIT_CODES, Finding
from ottla.doctor.render import render
from ottla.doctor.report import Report
from ottla.doctor.verdict import judge

OK = ("TCP", "ApiVersions", "Metadata")
BOOTSTRAP = "203.0.113.9"


def step(check: str, reason: str | None = None, **more: str) -> Step:
    message = None if reason is None else more.pop("message", f"it failed ({reason})")
    return Step(check, 0.001, reason, message, more.get("code"))


def view(*hosts: str) -> View:
    brokers = tuple(BrokerView(i, host, 9092) for i, host in enumerate(hosts, 1))
    return View("the-cluster", brokers)


def endpoint(host: str, failed: Step | None = None, seen: View | None = None) -> Endpoint:
    """A server that works, or fails at one step."""
    if failed is not None and failed.check == "DNS":
        return Endpoint(host, 9092, failed)
    before = OK[: OK.index(failed.check)] if failed is not None and failed.check in OK else OK
    steps = tuple(map(step, before)) + ((failed,) if failed is not None else ())
    found = (seen or view(host)) if failed is None else None
    return Endpoint(host, 9092, step("DNS"), (Address(host, 9092, steps, view=found),))


def facts(brokers: list[Endpoint], **more: object) -> Facts:
    """A cluster with a working bootstrap server."""
    seen = view(*(broker.host for broker in brokers))
    checked = tuple(Broker(i, None, 1, broker) for i, broker in enumerate(brokers, 1))
    topics = Topics(step("Metadata"), None, None, 1, len(brokers))
    base = Facts("PLAINTEXT", (endpoint(BOOTSTRAP, seen=seen),), seen, topics, checked)
    return dataclasses.replace(base, **more)  # type: ignore[arg-type]


def errors(seen: Facts) -> list[Finding]:
    return [finding for finding in judge(seen) if finding.severity == "error"]


@pytest.mark.parametrize(
    ("failed", "code", "phase", "expected"),
    [
        (step("DNS", "unresolved"), "unresolved", "DNS", "cannot be resolved on this machine"),
        (step("TCP", "refused"), "tcp_refused", "TCP", "nothing listens there"),
        (step("TCP", "timed_out"), "tcp_timed_out", "TCP", "packets are dropped"),
        (step("TCP", "unreachable"), "tcp_unreachable", "TCP", "no route"),
        (step("DNS", "proxy_unreachable"), "proxy_unreachable", "DNS", "through the proxy"),
        (step("TCP", "proxy_unreachable"), "proxy_unreachable", "TCP", "through the proxy"),
        (step("Proxy", "proxy_credentials"), "proxy_credentials", "TCP", "through the proxy"),
        (step("Proxy", "proxy_refused"), "proxy_refused", "TCP", "through the proxy"),
        (step("Proxy", "proxy_cannot_connect"), "proxy_cannot_connect", "TCP", "through the proxy"),
        (step("Proxy", "not_a_proxy"), "not_a_proxy", "TCP", "through the proxy"),
        (step("Proxy", "timed_out"), "proxy_silent", "TCP", "through the proxy"),
        (step("TLS", "certificate"), "certificate", "TLS", "rejects"),
        (step("TLS", "closed"), "tls_closed", "TLS", "TLS handshake"),
        (step("TLS", "speaks_plaintext"), "speaks_plaintext", "TLS", "speaks plaintext"),
        (step("ApiVersions", "speaks_tls"), "speaks_tls", "TLS", "speaks TLS"),
        (step("ApiVersions", "speaks_http"), "speaks_http", "ApiVersions", "speaks HTTP"),
        (step("ApiVersions", "timed_out"), "silent", "ApiVersions", "does not respond"),
        (step("ApiVersions", "closed"), "hangs_up", "ApiVersions", "closes them"),
        (step("SASL", "no_token"), "no_token", "SASL", "this client has none"),
        (step("SASL", "no_ticket"), "no_ticket", "SASL", "requires a Kerberos ticket"),
        (step("SASL", "credentials"), "credentials", "SASL", "rejected the credentials"),
        (step("SASL", "without_sasl"), "without_sasl", "SASL", "does not use SASL"),
        (step("SASL", "mechanism"), "mechanism", "SASL", "does not offer"),
        (step("Metadata", "wants_sasl"), "wants_sasl", "SASL", "requires SASL"),
        (step("Metadata", "closed"), "no_metadata", "Metadata", "returns no metadata"),
    ],
)
def test_the_only_bootstrap_server_fails(
    failed: Step, code: str, phase: str, expected: str
) -> None:
    seen = Facts("PLAINTEXT", (endpoint("kafka.example.com", failed),))
    [finding] = errors(seen)
    assert (finding.code, finding.phase) == (code, phase)
    assert expected in finding.summary
    assert "kafka.example.com:9092" in finding.summary
    assert finding.fix
    assert Report(seen, judge(seen)).exit_code == EXIT_CODES[phase]


def test_offered_mechanisms_are_named() -> None:
    address = Address(
        BOOTSTRAP, 9092, (step("Metadata", "wants_sasl"),), mechanisms=("PLAIN", "SCRAM-SHA-256")
    )
    seen = Facts("PLAINTEXT", (Endpoint(BOOTSTRAP, 9092, step("DNS"), (address,)),))
    assert "it offers PLAIN, SCRAM-SHA-256" in errors(seen)[0].summary


def test_one_server_that_works_is_enough() -> None:
    seen = facts([endpoint("a.example.com")])
    dead = endpoint("b.example.com", step("TCP", "refused"))
    seen = dataclasses.replace(seen, bootstrap=(dead, *seen.bootstrap))
    assert errors(seen) == []
    assert [finding.code for finding in judge(seen)] == ["tcp_refused"]
    assert Report(seen, judge(seen)).ok


def test_one_address_of_a_name_that_fails_is_a_warning() -> None:
    working = endpoint("localhost").addresses[0]
    broken = Address("::1", 9092, (step("TCP", "refused"),))
    seen = dataclasses.replace(
        facts([endpoint("a.example.com")]),
        bootstrap=(Endpoint("localhost", 9092, step("DNS"), (broken, working)),),
    )
    [finding] = judge(seen)
    assert (finding.severity, finding.code) == ("warning", "some_addresses_fail")


@pytest.mark.parametrize(
    ("host", "code", "expected"),
    [
        ("10.0.1.5", "advertised_private", "this address is private"),
        ("192.168.7.7", "advertised_private", "this address is private"),
        ("localhost", "advertised_loopback", "the client's own machine"),
        ("127.0.0.1", "advertised_loopback", "the client's own machine"),
        ("kafka-1", "advertised_container", "the name of a container"),
        ("broker.internal", "advertised_container", "the name of a container"),
        ("169.254.1.1", "advertised_link-local", "one link only"),
        ("0.0.0.0", "advertised_unspecified", "cannot connect to the unspecified address"),
        ("203.0.114.5", "advertised_unreachable", "does not respond"),
        ("kafka.example.com", "advertised_unreachable", "does not respond"),
    ],
)
def test_the_mismatch_of_advertised_addresses_is_explained(
    host: str, code: str, expected: str
) -> None:
    [finding] = errors(facts([endpoint(host, step("TCP", "timed_out"))]))
    assert (finding.code, finding.phase) == (code, "Advertised")
    assert f"bootstrap server {BOOTSTRAP}:9092 works" in finding.summary
    assert f"broker 1 advertises {host}:9092" in finding.summary
    assert expected in finding.summary
    assert "advertised.listeners" in finding.fix


def test_brokers_that_fail_alike_are_one_finding() -> None:
    hosts = [f"10.0.1.{i}" for i in range(1, 9)]
    [finding] = errors(facts([endpoint(host, step("TCP", "timed_out")) for host in hosts]))
    assert finding.brokers == tuple(range(1, 9))
    assert "and 3 more, which do not respond" in finding.summary


def test_brokers_that_all_advertise_localhost_are_not_a_load_balancer() -> None:
    [finding] = errors(facts([endpoint("localhost", step("TCP", "refused")) for _ in range(3)]))
    assert (finding.code, finding.brokers) == ("advertised_loopback", (1, 2, 3))


def test_one_broker_of_many_is_down() -> None:
    alive = [endpoint("10.0.1.1"), endpoint("10.0.1.2")]
    [finding] = errors(facts([*alive, endpoint("10.0.1.3", step("TCP", "refused"))]))
    assert (finding.code, finding.brokers) == ("broker_unreachable", (3,))
    assert "advertised.listeners" not in finding.fix


def test_an_unresolved_name_of_a_container() -> None:
    [finding] = errors(facts([endpoint("kafka-1", step("DNS", "unresolved"))]))
    assert finding.code == "advertised_unresolved"
    assert "the name of a container" in finding.summary
    assert "/etc/hosts" in finding.fix


def test_one_address_for_all_brokers() -> None:
    vip = [endpoint("kafka.example.com") for _ in range(3)]
    moved = PartitionCheck(
        "t", 0, (step("ListOffsets", "code", code="NOT_LEADER_OR_FOLLOWER"),), leader_now=2
    )
    seen = facts(vip)
    second = dataclasses.replace(seen.brokers[1], partitions=(moved,))
    seen = dataclasses.replace(seen, brokers=(seen.brokers[0], second, seen.brokers[2]))
    [finding] = errors(seen)
    assert (finding.code, finding.brokers) == ("one_address_for_all", (1, 2, 3))


def test_a_leader_that_is_another_broker() -> None:
    """The ids are unknown, but the broker names the expected leader and rejects the request."""
    seen = facts([endpoint("a.example.com"), endpoint("b.example.com")])
    wrong = PartitionCheck(
        "t", 0, (step("Fetch", "code", code="NOT_LEADER_OR_FOLLOWER"),), leader_now=1
    )
    first = dataclasses.replace(seen.brokers[0], partitions=(wrong,))
    [finding] = errors(dataclasses.replace(seen, brokers=(first, seen.brokers[1])))
    assert (finding.code, finding.phase) == ("misrouted", "Leaders")


def test_a_broker_that_is_identified_is_no_other_one_though_it_rejects_requests() -> None:
    """The leadership moves to and fro while the checks run, as with a broker that stalls."""
    seen = facts([endpoint("a.example.com")])
    rejected = step("ListOffsets", "code", code="NOT_LEADER_OR_FOLLOWER")
    checked = PartitionCheck("orders", 0, (rejected,), leader_now=1)
    [broker] = seen.brokers
    [address] = broker.endpoint.addresses
    identified = dataclasses.replace(
        broker.endpoint, addresses=(dataclasses.replace(address, node=1),)
    )
    broker = dataclasses.replace(broker, endpoint=identified, partitions=(checked,))
    seen = dataclasses.replace(seen, brokers=(broker,))
    assert errors(seen) == []
    [finding] = [found for found in judge(seen) if found.code == "leader_rejects"]
    assert (finding.severity, finding.certainty) == ("warning", "likely")


def test_another_cluster_at_an_advertised_address() -> None:
    other = dataclasses.replace(view("a.example.com"), cluster_id="another")
    [finding] = errors(facts([endpoint("a.example.com", seen=other)]))
    assert finding.code == "another_cluster"


def test_a_coordinator_that_cannot_be_reached() -> None:
    seen = facts(
        [endpoint("10.0.1.1"), endpoint("10.0.1.2", step("TCP", "refused"))],
        coordinator=Coordinator("billing", (step("FindCoordinator"),), 2),
    )
    assert [finding.code for finding in errors(seen)] == [
        "broker_unreachable",
        "coordinator_unreachable",
    ]


def test_a_name_with_a_space_is_quoted_in_the_command_of_the_fix() -> None:
    denied = step("DescribeGroups", "code", code="GROUP_AUTHORIZATION_FAILED")
    coordinator = Coordinator("my group", (denied,), 1)
    [finding] = errors(facts([endpoint("a.example.com")], coordinator=coordinator))
    assert "ottla acls create --group 'my group' --allow describe,read" in finding.fix


def test_no_brokers() -> None:
    assert [finding.code for finding in errors(facts([]))] == ["no_brokers"]


def test_checks_that_were_not_made_are_reported() -> None:
    seen = facts([endpoint("a.example.com")])
    late = PartitionCheck("t", 0, (step("ListOffsets"), step("Fetch", "out_of_time")))
    broker = dataclasses.replace(seen.brokers[0], partitions=(late,))
    found = judge(dataclasses.replace(seen, brokers=(broker,)))
    assert "out_of_time" in [finding.code for finding in found]


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        ("::1", "loopback"),
        ("fe80::1", "link-local"),
        ("fd00::5", "private"),
        ("8.8.8.8", "public"),
        ("db.localhost", "loopback"),
        ("kafka.local", "container"),
        ("kafka.example.com", "name"),
    ],
)
def test_kinds_of_addresses(host: str, kind: str) -> None:
    assert kind_of(host) == kind


def test_text_from_the_network_cannot_control_the_terminal() -> None:
    evil = step("Metadata", "closed", message="\x1b[2J\x07gone")
    seen = Facts("PLAINTEXT", (endpoint("kafka\x1b]0;x\x07.example.com", evil),))
    shown = render(seen, judge(seen), Style())
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\\x1b[2J" in shown


def test_colours_and_plain_marks() -> None:
    seen = facts([endpoint("a.example.com")])
    assert "\x1b[32m✓" in render(seen, judge(seen), Style(color=True))
    plain = render(seen, judge(seen), Style(ascii=True))
    assert plain.isascii()
    assert "ok a.example.com:9092" in plain.replace("ok broker 1 at ", "ok ")


def open_transaction(partition: int, seconds: float, **more: object) -> OpenTransaction:
    """A transaction that began so long before the second 1,000,000."""
    start_time = round((1_000_000 - seconds) * 1000)
    base = OpenTransaction("orders", partition, 17, 99, start_time, "billing", start_time, 900.0)
    return dataclasses.replace(base, **more)  # type: ignore[arg-type]


def transaction_findings(*found: OpenTransaction) -> list[Finding]:
    seen = facts([endpoint("b1.example.com")], open_transactions=found)
    return [each for each in judge(seen, 1_000_000) if each.code.startswith("transaction_")]


def test_a_transaction_that_is_open_for_long_is_named_once() -> None:
    [finding] = transaction_findings(
        open_transaction(0, 400), open_transaction(2, 400), open_transaction(1, 59, producer_id=3)
    )
    assert (finding.severity, finding.code) == ("warning", "transaction_open")
    assert "'billing' has been open for 6 min of at most 15 min" in finding.summary
    assert "2 partitions (orders-0 at offset 17, orders-2 at offset 17)" in finding.summary
    assert "ottla transactions abort --id billing --yes" in finding.fix
    [finding] = transaction_findings(
        open_transaction(0, 7500, transactional_id=None, timeout=None, start_time=None)
    )
    assert "producer 99, whose transactional id this principal may not see" in finding.summary
    assert "for 2 h 5 min and keeps back 1 partition" in finding.summary
    assert "ottla transactions" not in finding.fix


def test_a_hanging_transaction_is_named_with_its_last_record() -> None:
    [finding] = transaction_findings(
        # The producer's current transaction is another one.
        open_transaction(0, 30, is_hanging=True, last_timestamp=(1_000_000 - 7200) * 1000)
    )
    assert (finding.severity, finding.code) == ("warning", "transaction_hangs")
    assert "written 2 h 0 min ago" in finding.summary
    assert "ottla transactions abort -t orders -p 0 --start-offset 17 --yes" in finding.fix
