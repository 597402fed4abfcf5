"""kafka-python's layer on real brokers: programs have the traces that they have with the original.

``traces`` has those of the original.
"""

from __future__ import annotations

import uuid

import pytest

import ottla.compat.kafka
from tests.cluster.kafka_python_layer.scenarios import SCENARIOS
from tests.cluster.kafka_python_layer.traces import CONFIG, PARTITIONS, normalized, recorded
from tests.conftest import TopicFactory
from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.cluster

TRACES = recorded()


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_trace_is_the_originals(
    name: str, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(PARTITIONS, config=CONFIG)
    group = f"g-{uuid.uuid4().hex[:8]}"
    trace = SCENARIOS[name](ottla.compat.kafka, kafka.bootstrap, topic, group)
    assert normalized(trace, topic) == TRACES[name]
