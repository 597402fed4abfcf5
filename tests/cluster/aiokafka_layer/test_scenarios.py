"""aiokafka's layer on real brokers: programs have the traces that they have with the original.

``traces.json`` has the original's: ``python -m tests.cluster.aiokafka_layer`` writes it, where
aiokafka is installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

import ottla.compat.aiokafka
from tests.cluster.aiokafka_layer.scenarios import SCENARIOS
from tests.support.kafka_cluster import KafkaCluster
from tests.support.loops import run

pytestmark = pytest.mark.cluster

TRACES = json.loads(Path(__file__).with_name("traces.json").read_text())


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_the_trace_is_the_originals(
    kafka: KafkaCluster,
    kafka_topic: Callable[..., str],
    scenario: Callable[..., Coroutine[Any, Any, list[Any]]],
) -> None:
    config = {"retention.ms": "-1"}
    topic = kafka_topic(partitions=2, config=config)
    kafka.create_topic(f"{topic}-out", 1, 3, config)
    trace = run(scenario(ottla.compat.aiokafka, kafka.bootstrap, topic))
    assert json.loads(json.dumps(trace, default=_text)) == TRACES[scenario.__name__]


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
