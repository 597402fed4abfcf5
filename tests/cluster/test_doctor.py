"""The doctor on real brokers: all is well, and a broker that was killed."""

from __future__ import annotations

import pytest

import ottla
from ottla.doctor import Report
from ottla.errors import KafkaError
from tests.conftest import TopicFactory
from tests.support import kafka_releases
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.cluster


def test_a_healthy_cluster(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topic = kafka_topic(partitions=6)
    report = ottla.diagnose(kafka.bootstrap, topic=topic, group="doctor", timeout=60)
    assert report.ok, str(report)
    facts = report.facts
    assert [broker.id for broker in facts.brokers] == [1, 2, 3]
    assert [broker.endpoint.addresses[0].node for broker in facts.brokers] == [1, 2, 3]
    assert all(broker.leads == 2 for broker in facts.brokers)
    release = ".".join(map(str, kafka_releases.number(kafka.release)))
    assert facts.brokers[0].endpoint.addresses[0].release == release
    checks = [step.check for p in facts.brokers[0].partitions for step in p.steps]
    assert checks == ["ListOffsets", "Fetch"] * 2
    assert facts.coordinator is not None
    assert facts.coordinator.broker in {1, 2, 3}
    assert (facts.coordinator.state, facts.coordinator.members) == ("Dead", 0)
    if kafka.release in kafka_releases.ZOOKEEPER_RELEASES:
        assert facts.quorum is None
    else:
        assert facts.quorum is not None
        assert facts.quorum.leader in {1, 2, 3}
        assert [voter.id for voter in facts.quorum.voters] == [1, 2, 3]
    assert all(broker.replicas >= 2 for broker in facts.brokers)
    for broker in facts.brokers:
        [directory] = broker.log_dirs
        assert directory.error is None
        if kafka_releases.number(kafka.release) >= (3, 3):
            assert 0 < (directory.usable_bytes or 0) < (directory.total_bytes or 0)
        else:
            assert (directory.usable_bytes, directory.total_bytes) == (None, None)
        steps = [step.check for step in broker.endpoint.addresses[0].steps]
        assert steps[-2:] == ["Identity", "LargeRequest"]


def test_the_port_of_a_controller(kafka: KafkaCluster) -> None:
    """It speaks Kafka and TLS as brokers do, and serves no client."""
    voters = kafka.nodes[1].properties["controller.quorum.voters"].split(",")
    address = voters[0].partition("@")[2]
    report = ottla.diagnose(address, timeout=60)
    codes = [finding.code for finding in report.findings if finding.severity == "error"]
    assert codes == ["controller_port"], str(report)
    with pytest.raises(KafkaError, match="KRaft controller") as raised:
        ottla.Client(address, timeout=30)
    assert address in str(raised.value)


@pytest.mark.fault
def test_a_killed_broker(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topic = kafka_topic(partitions=3)
    kafka.kill(2)
    report = ottla.diagnose(kafka.bootstrap, topic=topic, timeout=60)
    found = {finding.code for finding in report.findings}
    # The metadata still names it, or others lead already: either is told.
    assert found & {"tcp_refused", "broker_unreachable", "under_replicated"}
    assert any(b.name == kafka.nodes[2].address for b in report.facts.bootstrap if not b.working)


@pytest.mark.fault
@pytest.mark.deep
def test_controllers_that_lost_their_majority(
    kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    """The broker that is left serves what it leads; nothing else says that the cluster is stuck."""
    kafka_topic(partitions=3)
    kafka.kill(2)
    kafka.kill(3)
    reports: list[Report] = []

    def lost() -> bool:
        reports.append(ottla.diagnose(kafka.nodes[1].address, timeout=20))
        return "no_quorum" in [finding.code for finding in reports[-1].findings]

    # A leader whose followers are gone resigns after 1.5 times controller.quorum.fetch.timeout.ms.
    wait_until(lost, lambda: str(reports[-1]))
    assert reports[-1].exit_code != 0
