"""The doctor's findings for large, slow and partly failing clusters: facts in, findings out."""

from __future__ import annotations

import dataclasses
import time

import pytest

from ottla._internal.style import Style
from ottla.doctor.checks.tls_failures import TLS_FAILURES
from ottla.doctor.cluster_facts import Broker, LogDir, Quorum, Voter
from ottla.doctor.connection_facts import Address, Endpoint, Step, Tls
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding
from ottla.doctor.render import render
from ottla.doctor.report import Report
from ottla.doctor.verdict import judge
from tests.unit.test_doctor_verdict import endpoint, errors, facts, step

# The size of a terminal on a small screen.
COLUMNS, ROWS = 80, 50


def found(seen: Facts, code: str) -> Finding:
    [finding] = [finding for finding in judge(seen) if finding.code == code]
    return finding


def thirty(broken: dict[int, Step]) -> Facts:
    hosts = [f"kafka-{i}.example.com" for i in range(1, 31)]
    return facts([endpoint(host, broken.get(i)) for i, host in enumerate(hosts, 1)])


@pytest.mark.parametrize("count", [0, 1, 4, 12])
def test_thirty_brokers_fit_one_screen(count: int) -> None:
    broken = {2 * i: step("TCP", "refused") for i in range(1, count + 1)}
    seen = thirty(broken)
    shown = render(seen, judge(seen), Style()).splitlines()
    assert len(shown) <= ROWS, "\n".join(shown)
    assert max(map(len, shown)) <= COLUMNS
    [healthy] = [line for line in shown if "healthy brokers" in line]
    assert f"{30 - count} healthy brokers" in healthy
    for broker in list(broken)[:10]:
        assert any(line.startswith(f"✗ broker {broker} at ") for line in shown)
    # Failing brokers come before healthy ones.
    positions = [i for i, line in enumerate(shown) if line.startswith("✗ broker")]
    assert all(position < shown.index(healthy) for position in positions)


def test_every_step_is_shown_with_verbose() -> None:
    seen = thirty({})
    shown = render(seen, judge(seen), Style(verbose=True))
    assert all(f"✓ broker {i} at kafka-{i}.example.com:9092" in shown for i in range(1, 31))


def test_long_texts_are_wrapped_below_their_line() -> None:
    message = "the broker closed the connection " * 6
    seen = thirty({7: step("TCP", "other", message=message.strip())})
    shown = render(seen, judge(seen), Style()).splitlines()
    assert max(map(len, shown)) <= COLUMNS
    assert " ".join(" ".join(shown).split()).count("closed the connection") >= 6


def with_times(seen: Facts, broker: int, **seconds: float) -> Facts:
    """Change the times of a broker's steps, or of all steps (0)."""

    def timed(found: Endpoint) -> Endpoint:
        def change(address: Address) -> Address:
            steps = [
                dataclasses.replace(step, seconds=seconds.get(step.check, step.seconds))
                for step in address.steps
            ]
            return dataclasses.replace(address, steps=tuple(steps))

        return dataclasses.replace(found, addresses=tuple(map(change, found.addresses)))

    brokers = [
        dataclasses.replace(one, endpoint=timed(one.endpoint)) if broker in {0, one.id} else one
        for one in seen.brokers
    ]
    bootstrap = tuple(map(timed, seen.bootstrap)) if broker == 0 else seen.bootstrap
    return dataclasses.replace(seen, brokers=tuple(brokers), bootstrap=bootstrap)


def test_a_slow_network_is_not_blamed_on_the_brokers() -> None:
    seen = with_times(thirty({}), 0, TCP=1.5, ApiVersions=1.6, Metadata=1.7)
    slow = found(seen, "slow_network")
    assert "the network to all brokers is slow" in slow.summary
    assert "1.5 s" in slow.summary
    assert "slow_broker" not in {finding.code for finding in judge(seen)}


def test_a_slow_broker_is_not_blamed_on_the_network() -> None:
    seen = with_times(thirty({}), 4, Metadata=3.2)
    slow = found(seen, "slow_broker")
    assert slow.brokers == (4,)
    assert "Metadata at broker 4 took 3.2 s" in slow.summary
    assert "slow_network" not in {finding.code for finding in judge(seen)}


@pytest.mark.parametrize("check", ["DNS", "TCP", "ApiVersions", "Metadata"])
def test_the_doctors_own_timeout_is_not_blamed_on_the_brokers(check: str) -> None:
    seen = thirty({i: step(check, "out_of_time") for i in range(4, 31)})
    assert errors(seen) == []
    late = found(seen, "out_of_time")
    assert "27 checks" in late.summary
    assert "--timeout" in late.fix
    shown = render(seen, judge(seen), Style())
    assert "the 3 of 30 brokers that were checked in time respond" in shown


def test_a_bootstrap_server_that_was_not_checked_in_time_is_not_blamed() -> None:
    seen = Facts("PLAINTEXT", (endpoint("a.example.com", step("ApiVersions", "out_of_time")),))
    assert [finding.code for finding in judge(seen)] == ["out_of_time"]


def test_a_missing_broker_is_found_in_the_replica_lists() -> None:
    seen = thirty({})
    assert seen.topics is not None
    topics = dataclasses.replace(seen.topics, missing_brokers=((31, 12), (32, 1)))
    missing = found(dataclasses.replace(seen, topics=topics), "broker_missing")
    assert missing.summary.startswith("brokers 31, 32 are down")
    assert "13 replicas" in missing.summary
    assert missing.brokers == (31, 32)


def quorum(leader: int | None, lags: dict[int, int | None], **failed: str) -> Quorum:
    steps = (step("DescribeQuorum", **failed),)
    return Quorum(steps, leader, tuple(Voter(i, lag) for i, lag in lags.items()))


def test_a_lost_quorum_has_its_own_error() -> None:
    for lost in (
        quorum(None, {}, reason="timed_out", message="no response within 5000 ms"),
        quorum(None, {1: None, 2: None, 3: None}),
    ):
        seen = dataclasses.replace(thirty({}), quorum=lost)
        [finding] = errors(seen)
        assert (finding.code, finding.phase) == ("no_quorum", "Controllers")
        assert "no new leader is elected" in finding.summary
        assert Report(seen, judge(seen)).exit_code == 12
        assert "✗ KRaft controllers" in render(seen, judge(seen), Style())


def test_lagging_controllers_are_counted() -> None:
    seen = dataclasses.replace(thirty({}), quorum=quorum(1, {1: 0, 2: 45_000, 3: 200}))
    behind = found(seen, "controller_behind")
    assert "2 by 45 s" in behind.summary
    assert "no other one may fail" in behind.summary
    five = quorum(1, {1: 0, 2: 45_000, 3: 200, 4: 300, 5: 0})
    behind = found(dataclasses.replace(seen, quorum=five), "controller_behind")
    assert "1 more may fail" in behind.summary


def test_controllers_that_keep_up_are_no_finding() -> None:
    seen = dataclasses.replace(thirty({}), quorum=quorum(2, {1: 300, 2: 0, 3: 900}))
    assert not [finding for finding in judge(seen) if finding.phase == "Controllers"]
    assert "quorum of 1, 2, 3; 2 leads" in render(seen, judge(seen), Style())


def test_each_tls_failure_has_its_own_fix() -> None:
    fixes = {}
    for reason in TLS_FAILURES:
        failed = step("TLS", reason, message="the cause")
        [finding] = errors(Facts("SSL", (endpoint("a.example.com", failed),)))
        assert (finding.code, finding.phase) == (reason, "TLS")
        assert ("the cause" in finding.summary) == (reason != "client_certificate_missing")
        fixes[finding.fix] = reason
    assert len(fixes) == len(TLS_FAILURES) == 12


def test_a_rejected_certificate_is_described() -> None:
    tls = Tls(subject="CN=kafka", issuer="CN=Test CA", names=("a", "b"), not_after=1_600_000_000.0)
    for reason, expected in {
        "certificate_expired": "CN=kafka, valid until 2020-09-13",
        "certificate_name": "CN=kafka, for a, b",
        "certificate_issuer": "CN=kafka, issued by CN=Test CA",
    }.items():
        address = Address("203.0.113.9", 9092, (step("TCP"), step("TLS", reason)), tls=tls)
        server = Endpoint("a.example.com", 9092, step("DNS"), (address,))
        [finding] = errors(Facts("SSL", (server,)))
        assert expected in finding.summary


@pytest.mark.parametrize(
    ("protocol", "reason", "expected"),
    [
        ("SSL", "wants_sasl", "set security.protocol to SASL_SSL with"),
        ("PLAINTEXT", "wants_sasl", "set security.protocol to SASL_PLAINTEXT with"),
        ("SASL_SSL", "without_sasl", "set security.protocol to SSL,"),
        ("SASL_PLAINTEXT", "without_sasl", "set security.protocol to PLAINTEXT,"),
    ],
)
def test_the_fix_names_the_protocol_to_set(protocol: str, reason: str, expected: str) -> None:
    failed = endpoint("a.example.com", step("Metadata", reason))
    [finding] = errors(Facts(protocol, (failed,)))
    assert expected in finding.fix


def test_the_port_of_a_controller_is_recognised() -> None:
    failed = endpoint("a.example.com", step("Metadata", "controller_port"))
    [finding] = errors(Facts("PLAINTEXT", (failed,)))
    assert "KRaft controller" in finding.summary
    assert "broker's listener" in finding.fix


def test_lost_large_requests_are_blamed_on_the_network() -> None:
    seen = facts([endpoint("a.example.com"), endpoint("b.example.com")])
    lost = step("LargeRequest", "large_requests_lost")
    broker = seen.brokers[1]
    [address] = broker.endpoint.addresses
    address = dataclasses.replace(address, steps=(*address.steps, lost))
    broken = dataclasses.replace(
        broker, endpoint=dataclasses.replace(broker.endpoint, addresses=(address,))
    )
    [finding] = errors(dataclasses.replace(seen, brokers=(seen.brokers[0], broken)))
    assert (finding.code, finding.brokers) == ("large_requests_lost", (2,))
    assert "broker 2 at b.example.com:9092 responds to small requests" in finding.summary
    assert "MTU" in finding.fix


def with_first_broker(seen: Facts, **changed: object) -> Facts:
    first: Broker = dataclasses.replace(seen.brokers[0], **changed)  # type: ignore[arg-type]
    return dataclasses.replace(seen, brokers=(first, *seen.brokers[1:]))


def test_one_bootstrap_server_is_a_note() -> None:
    seen = thirty({})
    note = found(seen, "one_bootstrap_server")
    assert note.severity == "note"
    assert "bootstrap.servers=kafka-1.example.com:9092, kafka-2.example.com:9092" in note.fix
    several = dataclasses.replace(seen, bootstrap=seen.bootstrap * 2)
    assert "one_bootstrap_server" not in {finding.code for finding in judge(several)}


def test_advertised_ip_addresses_are_a_note() -> None:
    assert found(facts([endpoint("203.0.113.9")]), "numeric_addresses").brokers == (1,)
    for host in ("127.0.0.1", "kafka.example.com"):
        codes = {finding.code for finding in judge(facts([endpoint(host)]))}
        assert "numeric_addresses" not in codes


def test_many_partitions_are_a_note() -> None:
    seen = with_first_broker(thirty({}), replicas=4001)
    assert found(seen, "many_partitions").brokers == (1,)
    codes = {finding.code for finding in judge(with_first_broker(thirty({}), replicas=4000))}
    assert "many_partitions" not in codes


def test_full_and_failed_disks_are_warnings() -> None:
    full = LogDir("/data/a", None, 1000, 99)
    failed = LogDir("/data/b", "KAFKA_STORAGE_ERROR")
    old = LogDir("/data/c")
    seen = with_first_broker(thirty({}), log_dirs=(full, failed, old))
    assert "/data/a of broker 1 (10 % free)" in found(seen, "disk_full").summary
    assert "/data/b of broker 1" in found(seen, "log_dir_failed").summary
    assert found(seen, "disk_full").severity == "warning"
    roomy = with_first_broker(thirty({}), log_dirs=(LogDir("/data/a", None, 1000, 100),))
    assert "disk_full" not in {finding.code for finding in judge(roomy)}


def test_a_verdict_on_thousands_of_brokers_is_quick() -> None:
    """No check compares all brokers with each other: a guard against hangs, not a benchmark."""
    started = time.monotonic()
    hosts = [endpoint(f"kafka-{i}.example.com") for i in range(3000)]
    judge(facts(hosts))
    assert time.monotonic() - started < 60
