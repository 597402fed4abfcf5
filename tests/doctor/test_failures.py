"""The doctor at three real brokers with a failure.

They are brokers and controllers, and the group's topic has one partition with one replica.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

import ottla
from ottla.doctor import Report
from tests.doctor.quotas import set_request_quota
from tests.doctor.verdicts import BROKER, check_verdict
from tests.support.golden import Replacements
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_properties import FAST_FAILOVER

pytestmark = [pytest.mark.cluster, pytest.mark.fault]

_CONFIG = {
    **FAST_FAILOVER,
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "quota.window.size.seconds": "3",
}


@pytest.fixture(scope="module")
def running() -> Iterator[KafkaCluster]:
    """The brokers."""
    with KafkaCluster(3, _CONFIG) as cluster:
        cluster.create_topic("orders", 3, 3, {"min.insync.replicas": "1"})
        yield cluster


@pytest.fixture
def cluster(running: KafkaCluster) -> Iterator[KafkaCluster]:
    """The brokers, all of them alive before and after each test."""
    running.heal()
    for partition in range(3):
        running.wait_for_isr("orders", partition, 3)
    yield running
    running.heal()


def check(
    cluster: KafkaCluster, name: str, report: Report, topic: str = "", slow: bool = False
) -> None:
    """Check the verdict; what each broker leads differs from run to run."""
    ports = {node.port: BROKER + i - 1 for i, node in cluster.nodes.items()}
    shows = Replacements(ports, {topic: "orders"} if topic else {}, seconds=slow)
    check_verdict(f"brokers/{name}", report, shows, exact=False)


def diagnose_until(
    cluster: KafkaCluster,
    seen: Callable[[Report], bool],
    topic: str | None = None,
    group: str | None = None,
) -> Report:
    """Diagnose until the cluster has noticed what happened."""
    reports: list[Report] = []

    def noticed() -> bool:
        reports.append(ottla.diagnose(cluster.bootstrap, topic=topic, group=group, timeout=30))
        return seen(reports[-1])

    wait_until(noticed, lambda: str(reports[-1]), 90)
    return reports[-1]


def works(report: Report) -> set[int]:
    """Return the brokers that can be reached."""
    return {broker.id for broker in report.facts.brokers if broker.endpoint.working is not None}


def move(cluster: KafkaCluster, topic: str, brokers: Sequence[int], wait: bool = True) -> None:
    """Move partition 0 of a topic."""
    with ottla.Admin(cluster.bootstrap) as admin:
        admin.alter_partition_reassignments({(topic, 0): brokers})
        if wait:
            wait_until(
                lambda: not admin.list_partition_reassignments([(topic, 0)]),
                lambda: f"{topic} is still moving",
            )


def leader_of_controllers(cluster: KafkaCluster) -> int | None:
    """Return the controller that leads, if one does."""
    quorum = ottla.diagnose(cluster.bootstrap, timeout=20).facts.quorum
    return None if quorum is None else quorum.leader


def lead_by_another(cluster: KafkaCluster, broker: int) -> None:
    """Let another controller lead than that of a broker, which the test is going to stop."""
    if leader_of_controllers(cluster) == broker:
        cluster.restart(broker)
        others = set(cluster.nodes) - {broker}
        wait_until(lambda: leader_of_controllers(cluster) in others, lambda: f"{broker} leads")


def test_a_frozen_broker(cluster: KafkaCluster) -> None:
    cluster.nodes[2].pause()
    step_timeout = {"socket.connection.setup.timeout.ms": 2000}
    report = ottla.diagnose(cluster.bootstrap, step_timeout, topic="orders", timeout=40)
    check(cluster, "frozen", report)


def test_a_topic_below_its_min_isr(cluster: KafkaCluster) -> None:
    cluster.create_topic("careful", 1, 3, {"min.insync.replicas": "2"})
    move(cluster, "careful", [1, 2])
    cluster.kill(2)
    wait_until(lambda: cluster.isr_of("careful") == [1], lambda: str(cluster.isr_of("careful")))
    report = ottla.diagnose(cluster.bootstrap, topic="careful", timeout=40)
    check(cluster, "below_min_isr", report)


def test_a_dead_voter_that_the_leader_never_saw(cluster: KafkaCluster) -> None:
    lead_by_another(cluster, 3)
    cluster.kill(3)
    leader = leader_of_controllers(cluster)
    assert leader in {1, 2}
    cluster.restart(leader)
    wait_until(lambda: leader_of_controllers(cluster) in {1, 2}, lambda: "no controller leads")
    report = ottla.diagnose(cluster.bootstrap, topic="orders", timeout=40)
    check(cluster, "dead_voter", report)


def test_the_topic_of_offsets_without_leader(cluster: KafkaCluster) -> None:
    # Its first use creates the topic.
    diagnose_until(
        cluster,
        lambda report: (
            report.facts.coordinator is not None and report.facts.coordinator.broker is not None
        ),
        group="billing",
    )
    move(cluster, "__consumer_offsets", [2])
    cluster.kill(2)
    report = diagnose_until(
        cluster, lambda r: 2 not in {b.id for b in r.facts.brokers}, group="billing"
    )
    check(cluster, "offsets_without_leader", report)


def test_a_reassignment_to_a_dead_broker(cluster: KafkaCluster) -> None:
    cluster.create_topic("moving", 1, 1)
    move(cluster, "moving", [1])
    wait_until(lambda: cluster.isr_of("moving") == [1], lambda: str(cluster.isr_of("moving")))
    cluster.kill(3)
    # While the controllers believe that it is alive, another one of them may have to take over.
    diagnose_until(cluster, lambda r: 3 not in {b.id for b in r.facts.brokers}, topic="moving")
    move(cluster, "moving", [3], wait=False)
    report = ottla.diagnose(cluster.bootstrap, topic="moving", timeout=30)
    check(cluster, "stuck_reassignment", report, "moving")


def test_a_replica_that_is_not_eligible(cluster: KafkaCluster) -> None:
    """Brokers 2 and 3 have the replicas; 3 falls behind, and is all that comes back."""
    cluster.create_topic("behind", 1, 2, {"min.insync.replicas": "1"})
    move(cluster, "behind", [2, 3])
    cluster.kill(3)
    wait_until(lambda: cluster.isr_of("behind") == [2], lambda: str(cluster.isr_of("behind")))
    with ottla.Producer(cluster.bootstrap) as producer:
        producer.send("behind", b"what 3 has not").result(timeout=60)
    cluster.kill(2)
    cluster.restart(3)
    wait_until(lambda: cluster.leader_of("behind") == -1, lambda: "it still has a leader")
    # A broker that starts is in the metadata before its port is open.
    report = diagnose_until(cluster, lambda r: 3 in works(r), topic="behind")
    check(cluster, "not_eligible", report, "behind")


def test_throttling_and_a_broker_that_stalls(cluster: KafkaCluster) -> None:
    """The last of the tests: the quota holds for the tests' own clients, too."""
    lead_by_another(cluster, 2)
    set_request_quota(cluster, "0.001")
    cluster.nodes[2].pause()
    report = ottla.diagnose(cluster.bootstrap, topic="orders", timeout=60)
    cluster.nodes[2].resume()
    check(cluster, "throttled_and_stalling", report, slow=True)
