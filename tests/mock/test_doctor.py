"""The doctor on faulty clusters; its reports are compared with tests/golden/doctor."""

from __future__ import annotations

import json

import pytest

import ottla
from ottla.admin import ConfigResource
from ottla.doctor import Report
from ottla.errors import ConfigError, KafkaError
from ottla.testing import Fault, MockCluster
from tests.support.child import assert_interruptible
from tests.support.golden import Replacements, check_golden, render_golden
from tests.support.mtu_black_hole import MtuBlackHole
from tests.support.ports import free_ports

# The ports that reports show in place of a run's own.
BROKER, OTHER, CLOSED = 9092, 8080, 9999


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def diagnose(cluster: MockCluster, broker: int | None = 1, **arguments: object) -> Report:
    """Run the doctor with one bootstrap server, or with all."""
    servers = cluster.bootstrap if broker is None else cluster.brokers[broker]
    return ottla.diagnose(servers, **arguments)  # type: ignore[arg-type]


def check(name: str, report: Report, cluster: MockCluster | None, **ports: int) -> None:
    """Compare a report with its golden text; the brokers' ports become 9092, 9093, …."""
    known = {v: {"closed": CLOSED, "other": OTHER}[k] for k, v in ports.items()}
    if cluster is not None:
        known |= {port_of(a): BROKER + i - 1 for i, a in cluster.brokers.items()}
    check_golden(f"doctor/{name}", render_golden(report.to_dict(), Replacements(known)))


def codes(report: Report, severity: str = "error") -> list[str]:
    return [finding.code for finding in report.findings if finding.severity == severity]


def test_a_healthy_cluster(mock_cluster: MockCluster, topic: str) -> None:
    report = diagnose(mock_cluster, topic=topic, group="billing")
    assert report.ok
    assert report.exit_code == 0
    check("healthy", report, mock_cluster)


def test_nothing_is_written_and_no_topic_is_created(mock_cluster: MockCluster) -> None:
    report = diagnose(mock_cluster, topic="not-there")
    assert codes(report) == ["topic_unknown"]
    assert report.exit_code == 8
    check("unknown_topic", report, mock_cluster)
    with ottla.Client(mock_cluster.bootstrap) as client:
        assert "not-there" not in client.topic_names()
    assert mock_cluster.request_count("Produce") == 0


def test_a_hanging_transaction(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.append(topic, 1, [b"before"])
    for partition in (0, 1):
        mock_cluster.append_in_transaction(topic, partition, 99, [b"never ended"])
    report = diagnose(mock_cluster)
    assert report.ok
    assert codes(report, "warning") == ["transaction_hangs"]
    check("hanging_transaction", report, mock_cluster)
    denied = Fault.error("TOPIC_AUTHORIZATION_FAILED")
    mock_cluster.inject(denied, api="DescribeProducers")
    assert codes(diagnose(mock_cluster), "warning") == []


def test_an_open_transaction_is_no_finding_unless_it_lasts(
    mock_cluster: MockCluster, topic: str
) -> None:
    with ottla.Producer(mock_cluster.bootstrap, transactional_id="billing") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"open", partition=1).result(timeout=10)
        report = diagnose(mock_cluster, topic=topic)
        assert codes(report, "warning") == []
        [found] = report.facts.open_transactions
        assert (found.partition, found.transactional_id, found.timeout) == (1, "billing", 60.0)
        assert not found.is_hanging
        # Nothing is concluded about a producer if a coordinator does not respond.
        mock_cluster.inject(Fault.error("COORDINATOR_LOAD_IN_PROGRESS"), api="ListTransactions")
        [found] = diagnose(mock_cluster, topic=topic).facts.open_transactions
        assert (found.transactional_id, found.is_hanging) == (None, False)
        producer.abort_transaction()


def test_a_dead_bootstrap_server_is_a_warning(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.stop_broker(2)
    report = diagnose(mock_cluster, broker=None)
    assert report.ok
    assert codes(report, "warning") == [
        "tcp_refused",
        "broker_missing",
        "under_replicated",
        "controller_behind",
    ]
    [missing] = [finding for finding in report.findings if finding.code == "broker_missing"]
    assert missing.brokers == (2,)
    check("dead_bootstrap_server", report, mock_cluster)


@pytest.mark.parametrize("named", [True, False])
def test_a_reassignment_to_a_dead_broker(
    mock_cluster: MockCluster, topic: str, named: bool
) -> None:
    mock_cluster.stop_broker(3)
    mock_cluster.create_topic("moving", partitions=1, replication=1)
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        admin.alter_partition_reassignments({("moving", 0): [3]})
    report = diagnose(mock_cluster, topic="moving" if named else None)
    [finding] = [found for found in report.findings if found.code == "reassignment_waits"]
    assert finding.brokers == (3,)
    assert "the reassignment of moving-0 waits for broker 3" in finding.summary
    # Of another topic, it is not reported.
    assert "reassignment_waits" not in codes(diagnose(mock_cluster, topic=topic), "warning")


def test_nothing_is_asked_about_dead_brokers_of_a_healthy_cluster(
    mock_cluster: MockCluster, topic: str
) -> None:
    assert diagnose(mock_cluster, broker=None).ok
    apis = ("DescribeCluster", "ListPartitionReassignments")
    assert [mock_cluster.request_count(api) for api in apis] == [0, 0]


def test_a_broker_that_is_down_but_still_in_the_metadata(
    mock_cluster: MockCluster, topic: str
) -> None:
    [closed] = free_ports(1)
    mock_cluster.advertise(2, f"127.0.0.1:{closed}")
    report = diagnose(mock_cluster, topic=topic)
    assert codes(report) == ["broker_unreachable"]
    assert report.exit_code == 9
    check("broker_down", report, mock_cluster, closed=closed)


def test_all_brokers_advertise_localhost(mock_cluster: MockCluster) -> None:
    ports = free_ports(3)
    for broker, port in zip(mock_cluster.brokers, ports, strict=True):
        mock_cluster.advertise(broker, f"127.0.0.1:{port}")
    report = diagnose(mock_cluster)
    assert codes(report) == ["advertised_loopback"]
    known = {port_of(mock_cluster.brokers[1]): BROKER}
    known |= {port: 19092 + i for i, port in enumerate(ports)}
    check_golden(
        "doctor/advertised_localhost", render_golden(report.to_dict(), Replacements(known))
    )


def test_an_advertised_name_that_cannot_be_resolved(mock_cluster: MockCluster) -> None:
    for broker in mock_cluster.brokers:
        mock_cluster.advertise(broker, f"kafka-{broker}.invalid:9092")
    report = diagnose(mock_cluster)
    assert codes(report) == ["advertised_unresolved"]
    assert report.findings[0].brokers == (1, 2, 3)
    check("advertised_unresolved", report, mock_cluster)


def test_two_brokers_at_one_address(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.advertise(2, mock_cluster.brokers[1])
    report = diagnose(mock_cluster, topic=topic)
    assert codes(report) == ["one_address_for_all"]
    assert report.exit_code == 9
    check("one_address", report, mock_cluster)


def test_an_address_that_leads_to_another_broker(mock_cluster: MockCluster, topic: str) -> None:
    first, second = mock_cluster.brokers[1], mock_cluster.brokers[2]
    mock_cluster.advertise(1, second)
    mock_cluster.advertise(2, first)
    report = diagnose(mock_cluster, broker=3, topic=topic)
    assert codes(report) == ["another_broker", "another_broker"]
    assert [broker.endpoint.addresses[0].node for broker in report.facts.brokers] == [2, 1, 3]
    check("swapped_addresses", report, mock_cluster)


def test_without_permission_to_describe_brokers_leaders_reveal_the_wrong_broker(
    mock_cluster: MockCluster, topic: str
) -> None:
    """The announced id of KIP-1242 and the leaders' error codes remain."""
    mock_cluster.inject(Fault.error("CLUSTER_AUTHORIZATION_FAILED"), api="DescribeConfigs")
    mock_cluster.advertise(2, mock_cluster.brokers[1])
    mock_cluster.advertise(1, mock_cluster.brokers[3])
    report = diagnose(mock_cluster, topic=topic)
    assert "one_address_for_all" in codes(report)
    steps = [step for p in report.facts.brokers[1].partitions for step in p.steps]
    assert {step.code for step in steps} == {"NOT_LEADER_OR_FOLLOWER"}


def test_a_leader_that_moves_during_the_checks_is_a_note(
    mock_cluster: MockCluster, single: str
) -> None:
    leader = mock_cluster.leader(single, 0)
    assert leader is not None
    to = leader % 3 + 1
    mock_cluster.inject(Fault.move_leader(to), api="ListOffsets", times=1)
    report = diagnose(mock_cluster, broker=leader, topic=single)
    assert report.ok
    assert "leader_moved" in codes(report, "note")
    assert f"to broker {to}" in str(report)


def test_a_partition_without_leader(topic: str, mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("alone", partitions=3, replication=1)
    for broker in (2, 3):
        mock_cluster.stop_broker(broker)
    report = diagnose(mock_cluster, topic="alone")
    assert codes(report) == ["leaderless"]
    assert report.exit_code == 10
    check("leaderless", report, mock_cluster)


def test_too_few_in_sync_replicas_for_acks_all(mock_cluster: MockCluster) -> None:
    """True cause: two of three replicas are down, and acks=all needs two; reads work."""
    mock_cluster.create_topic("payments", partitions=1, replication=3)
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        payments = ConfigResource("topic", "payments")
        admin.alter_configs({payments: {"min.insync.replicas": "2"}})
    for broker in (2, 3):
        mock_cluster.stop_broker(broker)
    report = diagnose(mock_cluster, topic="payments")
    assert codes(report) == ["below_min_isr"]
    assert report.exit_code == 10
    check("below_min_isr", report, mock_cluster)


def test_a_client_that_a_quota_throttles(mock_cluster: MockCluster, topic: str) -> None:
    """True cause: a quota of this client, of which each response of broker 2 tells."""
    mock_cluster.inject(Fault.throttle(300), api="Metadata", broker=2)
    report = diagnose(mock_cluster, topic=topic)
    assert report.ok
    assert codes(report, "warning") == ["throttled"]
    check("throttled", report, mock_cluster)


def test_a_topic_without_permission_to_read(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.inject(Fault.error("TOPIC_AUTHORIZATION_FAILED"), api="Fetch")
    report = diagnose(mock_cluster, topic=topic)
    assert codes(report) == ["read_denied"] * 3
    check("read_denied", report, mock_cluster)


def test_a_group_without_coordinator(mock_cluster: MockCluster) -> None:
    mock_cluster.inject(Fault.error("COORDINATOR_NOT_AVAILABLE"), api="FindCoordinator")
    report = diagnose(mock_cluster, group="billing", timeout=12)
    assert codes(report) == ["coordinator_fails"]
    assert report.exit_code == 11
    check("no_coordinator", report, mock_cluster)


def test_no_metadata(mock_cluster: MockCluster) -> None:
    mock_cluster.inject(Fault.disconnect("before"), api="Metadata")
    report = diagnose(mock_cluster)
    assert codes(report) == ["no_metadata"]
    assert report.exit_code == 8
    check("no_metadata", report, mock_cluster)


def test_servers_of_different_clusters(mock_cluster: MockCluster) -> None:
    with MockCluster(brokers=1) as other:
        servers = f"{mock_cluster.brokers[1]},{other.brokers[1]}"
        report = ottla.diagnose(servers)
    assert codes(report) == ["different_clusters"]


def test_slow_brokers_are_a_warning(mock_cluster: MockCluster) -> None:
    mock_cluster.inject(Fault.delay(1.2), api="Metadata", broker=2)
    report = diagnose(mock_cluster)
    assert report.ok
    [slow] = [finding for finding in report.findings if finding.code == "slow_broker"]
    assert "Metadata at broker 2 took " in slow.summary
    assert slow.brokers == (2,)


def test_a_path_that_loses_large_packets(mock_cluster: MockCluster, topic: str) -> None:
    """Connections are established and small requests get responses: the broker looks healthy."""
    with MtuBlackHole(mock_cluster.brokers[2]) as path:
        mock_cluster.advertise(2, path.address)
        step_timeout = {"socket.connection.setup.timeout.ms": 1500}
        report = diagnose(mock_cluster, config=step_timeout, topic=topic)
        assert codes(report) == ["large_requests_lost"]
        assert report.findings[0].brokers == (2,)
        assert report.exit_code == 9
        check("large_requests_lost", report, mock_cluster, other=port_of(path.address))


def test_the_port_of_a_controller(mock_cluster: MockCluster) -> None:
    """It serves the quorum, but not clients."""
    with MockCluster(brokers=1, without=["Metadata", "Produce", "Fetch"]) as controller:
        report = diagnose(controller)
        assert codes(report) == ["controller_port"]
        assert report.exit_code == 8
        check("port_controller", report, controller)
        with pytest.raises(KafkaError, match="the port of a KRaft controller"):
            ottla.Client(controller.bootstrap, timeout=5).topic_names()


def test_controllers_without_a_leader(mock_cluster: MockCluster, topic: str) -> None:
    """Brokers have no controller to forward the request to: there is no response."""
    mock_cluster.inject(Fault.delay(60), api="DescribeQuorum")
    step_timeout = {"socket.connection.setup.timeout.ms": 1500}
    report = diagnose(mock_cluster, config=step_timeout, topic=topic)
    assert codes(report) == ["no_quorum"]
    assert report.exit_code == 12
    check("no_quorum", report, mock_cluster)


def test_without_permission_the_controllers_are_not_judged(
    mock_cluster: MockCluster, topic: str
) -> None:
    mock_cluster.inject(Fault.error("CLUSTER_AUTHORIZATION_FAILED"), api="DescribeQuorum")
    report = diagnose(mock_cluster, topic=topic)
    assert report.ok
    assert report.facts.quorum is None


def test_a_large_cluster_fits_on_one_screen() -> None:
    with MockCluster(brokers=30) as cluster:
        cluster.stop_broker(7)
        [closed] = free_ports(1)
        cluster.advertise(9, f"127.0.0.1:{closed}")
        report = diagnose(cluster)
        lines = str(report).splitlines()
    assert len(lines) <= 40, str(report)
    assert max(map(len, lines)) <= 80
    assert "28 healthy brokers" in str(report)


def test_ctrl_c_interrupts_the_checks() -> None:
    assert_interruptible(
        """
        import socket
        server = socket.create_server(("127.0.0.1", 0))
        try:
            say("waiting")
            ottla.diagnose(f"127.0.0.1:{server.getsockname()[1]}", timeout=60)
        except KeyboardInterrupt:
            say("interrupted")
        """,
        0.5,
    )


def test_a_wrong_configuration_is_raised() -> None:
    with pytest.raises(ConfigError, match=r"linger\.ms"):
        ottla.diagnose("localhost:9092", {"lingr.ms": 1})
    with pytest.raises(ConfigError, match="has no port"):
        ottla.diagnose("localhost")


def test_the_report_is_json(mock_cluster: MockCluster, topic: str) -> None:
    report = diagnose(mock_cluster, topic=topic, group="billing")
    decoded = json.loads(json.dumps(report.to_dict()))
    assert decoded["ok"] is True
    assert decoded["facts"]["cluster"]["brokers"][0]["id"] == 1
    assert decoded["facts"]["brokers"][0]["endpoint"]["addresses"][0]["apis"]["Metadata"] == [0, 13]
