"""The same program on the original and on the layer, on real Kafka, with the same trace."""

from __future__ import annotations

import importlib
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cluster.confluent_kafka_layer import (
    client_scenarios,
    error_scenarios,
    group_scenarios,
)
from tests.support.confluent_scenarios import Scenario, Trace
from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.cluster

PEERS = ("confluent_kafka", "ottla.compat.confluent_kafka")

# With the number of partitions of its topic.
SCENARIOS: dict[Scenario, int] = {
    client_scenarios.deliveries: 2,
    client_scenarios.positions: 2,
    client_scenarios.exactly_once: 2,
    client_scenarios.open_transaction: 1,
    group_scenarios.rebalances: 4,
    group_scenarios.cooperative_rebalances: 4,
    group_scenarios.commits: 1,
    group_scenarios.stored_offsets: 1,
    error_scenarios.errors: 1,
    error_scenarios.late_polls: 1,
    error_scenarios.unreachable_brokers: 1,
}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_both_have_the_same_trace(kafka: KafkaCluster, scenario: Scenario) -> None:
    def run(name: str) -> Trace:
        topic = f"trace-{uuid.uuid4().hex[:12]}"
        # Records have old timestamps: retention must not delete them.
        kafka.create_topic(topic, SCENARIOS[scenario], 3, {"retention.ms": "-1"})
        return scenario(importlib.import_module(name), kafka.bootstrap, topic)

    # At the same time, since they mostly wait.
    with ThreadPoolExecutor() as pool:
        original, layer = pool.map(run, PEERS)
    assert original == layer
