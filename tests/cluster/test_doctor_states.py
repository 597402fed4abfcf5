"""The doctor on real brokers whose state is at fault, not their network; each set-up has its cause.

The findings are in tests/golden/doctor/states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import ottla
from ottla.admin import Admin, ConfigResource, QuotaEntity
from ottla.admin.topics import TopicDescription
from ottla.doctor import Report
from ottla.errors import KafkaError
from tests.conftest import TopicFactory
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_properties import FAST_FAILOVER
from tests.support.verdicts import check_verdict

pytestmark = [pytest.mark.cluster, pytest.mark.fault, pytest.mark.deep]


def until_found(diagnose: Callable[[], Report], code: str) -> Report:
    """Diagnose until a finding is there, as the cluster takes a while to notice."""
    reports: list[Report] = []

    def found() -> bool:
        reports.append(diagnose())
        return code in [finding.code for finding in reports[-1].findings]

    wait_until(found, lambda: str(reports[-1]))
    return reports[-1]


def describe(admin: Admin) -> TopicDescription:
    return admin.describe_topics(["orders"])["orders"]


def shown(kafka: KafkaCluster, topic: str = "") -> dict[str, str]:
    """Show ports as 9091, 9092, …, and the topic as orders."""
    ports = {f":{node.port}": f":909{i}" for i, node in kafka.nodes.items()}
    return {**ports, **({topic: "orders"} if topic else {})}


def test_below_min_insync_replicas(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    """True cause: one replica of three is down, and the topic needs three for acks=all."""
    topic = kafka_topic(partitions=1, config={"min.insync.replicas": "3"})
    kafka.kill(2)
    bootstrap = kafka.nodes[1].address
    report = until_found(lambda: ottla.diagnose(bootstrap, topic=topic), "below_min_isr")
    finding = check_verdict("states/below_min_isr", report, "below_min_isr", shown(kafka, topic))
    assert (finding.severity, finding.certainty, finding.brokers) == ("error", "certain", (2,))
    assert report.exit_code == 10


def test_a_voter_that_died_before_the_leader_was_elected(kafka: KafkaCluster) -> None:
    """True cause: controller 3 is down; the leader, elected since, has no time of it at all."""
    with Admin(kafka.bootstrap) as admin:
        leader = admin.describe_metadata_quorum().leader_id
        dead = next(i for i in kafka.nodes if i != leader)
        kafka.kill(dead)
        node = kafka.nodes[leader]
        node.shut_down()
        node.start()

        def is_forgotten() -> bool:
            try:
                voters = admin.describe_metadata_quorum(timeout=5).voters
            except KafkaError:
                return False
            blank = [each.replica_id for each in voters if each.last_caught_up_ms is None]
            return blank == [dead]

        wait_until(is_forgotten, lambda: "the leader still has a time of the dead voter")
    live = next(i for i in kafka.nodes if i not in {dead, leader})
    report = until_found(lambda: ottla.diagnose(kafka.nodes[live].address), "controller_behind")
    finding = check_verdict(
        "states/dead_voter",
        report,
        "controller_behind",
        {r"leader \(\d\): \d since": "leader (1): 3 since"},
    )
    assert finding.certainty == "certain"
    assert f"nothing heard from {dead}" in " ".join(str(report).split())


def test_a_quota_throttles_this_client(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    """True cause: a request quota of nearly nothing; the disks and the network are fine."""
    topic = kafka_topic(partitions=3)
    entity = QuotaEntity(client_id="throttled")
    with Admin(kafka.bootstrap) as admin:
        admin.alter_client_quotas({entity: {"request_percentage": 0.01}})
        try:
            report = until_found(
                lambda: ottla.diagnose(kafka.bootstrap, {"client.id": "throttled"}, topic=topic),
                "throttled",
            )
        finally:
            admin.alter_client_quotas({entity: {"request_percentage": None}})
    check_verdict(
        "states/throttled",
        report,
        "throttled",
        {r"brokers? [\d, and]+ throttles?": "broker 1 throttles", r"\d+\.\d s": "1.0 s"},
    )
    codes = {finding.code for finding in report.findings}
    assert not codes & {"leader_fails", "slow_broker", "large_requests_lost"}, str(report)


def test_max_connections_is_reached(kafka: KafkaCluster) -> None:
    """True cause: the listener of broker 2 has all connections that it may have."""
    limit = "listener.name.plaintext.max.connections"
    resource = ConfigResource("broker", "2")
    with Admin(kafka.nodes[1].address) as admin:
        admin.alter_configs({resource: {limit: "1"}})
        try:
            report = until_found(lambda: ottla.diagnose(kafka.nodes[1].address), "silent")
        finally:
            admin.alter_configs({resource: {limit: None}})
    finding = check_verdict("states/max_connections", report, "silent", shown(kafka))
    assert finding.brokers == (2,)
    assert "max.connections" in finding.fix
    assert "heartbeats" in finding.summary


def test_a_frozen_broker(kafka: KafkaCluster) -> None:
    """True cause: the process of broker 2 is stopped; its system still accepts connections."""
    with Admin(kafka.nodes[1].address) as admin:
        leader = admin.describe_metadata_quorum().leader_id
        frozen = 2 if leader != 2 else 3
        kafka.nodes[frozen].pause()
        address = kafka.nodes[frozen].address
        report = ottla.diagnose(address, timeout=8)
        port = {rf":{kafka.nodes[frozen].port}": ":9092"}
        finding = check_verdict("states/frozen_broker", report, "silent", port)
        assert finding.certainty == "likely"
        assert "SIGSTOP" in finding.fix
        wait_until(
            lambda: frozen not in [broker.id for broker in admin.describe_cluster().brokers],
            lambda: "the controllers still list the frozen broker",
        )
    report = ottla.diagnose(kafka.bootstrap)
    [finding] = [f for f in report.findings if f"{address} (broker {frozen})" in f.summary]
    # Its queue of new connections is soon full, and then it seems to be behind a firewall.
    assert finding.code in {"silent", "tcp_timed_out"}, str(report)
    assert finding.severity == ("error" if finding.code == "silent" else "warning")
    assert finding.certainty == "likely"
    assert "frozen" in finding.summary


@pytest.fixture
def unclean() -> Iterator[KafkaCluster]:
    """Three brokers of which two lose their power, with a topic on both."""
    with KafkaCluster(config=FAST_FAILOVER) as cluster:
        yield cluster


def test_replicas_that_are_not_eligible(unclean: KafkaCluster) -> None:
    """True cause: broker 2 is back after an unclean shutdown, so only broker 3, down, may lead."""
    unclean.create_topic("orders", 1, 3, {"min.insync.replicas": "2"})
    with Admin(unclean.nodes[1].address) as admin:
        admin.alter_partition_reassignments({("orders", 0): [2, 3]})
        wait_until(
            lambda: sorted(describe(admin).partitions[0].isr) == [2, 3],
            lambda: str(describe(admin)),
        )
    for broker in (2, 3):
        unclean.kill(broker)
    unclean.nodes[2].start()
    report = until_found(
        lambda: ottla.diagnose(unclean.nodes[1].address, topic="orders"), "replicas_not_eligible"
    )
    # Either broker may be back first.
    either = {
        r"brokers? [23](, 3)? with a replica (is|are) alive": "broker 2 with a replica is alive"
    }
    check_verdict("states/not_eligible", report, "replicas_not_eligible", either)
    with Admin(unclean.nodes[1].address) as admin:
        admin.elect_leaders([("orders", 0)], unclean=True)
        wait_until(
            lambda: describe(admin).partitions[0].leader == 2,
            lambda: str(describe(admin)),
        )
