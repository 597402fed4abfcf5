"""The doctor on real brokers: all is well, and a broker that was killed."""

from __future__ import annotations

import pytest

import ottla
from tests.conftest import TopicFactory
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
    assert facts.brokers[0].endpoint.addresses[0].release == "4.3"
    checks = [step.check for p in facts.brokers[0].partitions for step in p.steps]
    assert checks == ["ListOffsets", "Fetch"] * 2
    assert facts.coordinator is not None
    assert facts.coordinator.broker in {1, 2, 3}
    assert (facts.coordinator.state, facts.coordinator.members) == ("Dead", 0)


@pytest.mark.fault
def test_a_killed_broker(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topic = kafka_topic(partitions=3)
    kafka.kill(2)
    report = ottla.diagnose(kafka.bootstrap, topic=topic, timeout=60)
    found = {finding.code for finding in report.findings}
    # The metadata still names it, or others lead already: either is told.
    assert found & {"tcp_refused", "broker_unreachable", "under_replicated"}
    assert any(b.name == kafka.nodes[2].address for b in report.facts.bootstrap if not b.working)
