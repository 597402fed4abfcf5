"""The layer and kafka-python itself see the same on real brokers.

The original runs where it is installed; what it has shown is written down below.
"""

from __future__ import annotations

import importlib.util
import uuid
from typing import Any

import pytest

import ottla.compat.kafka
from tests.cluster.kafka_python_layer.scenarios import SCENARIOS
from tests.conftest import TopicFactory
from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.cluster


def expected(topic: str) -> dict[str, list[Any]]:
    """Return what kafka-python 3 has shown, by scenario."""
    without_group = [
        *([0, 1, 2, 3], True, 4, (None, -1, "", None, "<unjoined>"), "IllegalStateError"),
        (None, set()),
    ]
    return {
        "produce": [
            [0, 1, 2, 3],
            (topic, 1, (topic, 1), 0, 1_700_000_000_000, None, 3, 5, 2),
            0,
            (True, False, True),
            *(1, 0, 3),
            *("TypeError", "ValueError", "ValueError"),
            (topic, 0, 0, 0, 0, 0, b"tombstone", None, [], None, 9, -1, -1),
            (b"a", b"keyed"),
            (topic, 1, 0, 0, 1_700_000_000_000, 0, b"key", b"value", [("h", b"1")], None, 3, 5, 2),
            (b"", b"keyed"),
            (topic, 3, 0, 0, 0, 0, b"\xff" * 9, b"keyed", [], None, 9, 5, -1),
        ],
        "rebalance": [
            [
                *(("revoked", 0), ("assigned", 4), ("revoked", 4), ("assigned", 2)),
                *(("revoked", 2), ("assigned", 4), ("revoked", 4)),
            ],
            [("revoked", 0), ("assigned", 2), ("revoked", 2)],
            True,
        ],
        "commits": [
            *(3, 3, 3, [3, 4, 5, 6, 7, 8, 9], 3, (10, False), (4, "note", -1), 10),
            *([8, 9], 0, {}, 0, 4, 4, 10, None),
        ],
        "transactions": ["fenced", 7, [b"committed", b"last"]],
        "patterns": [None, *without_group, None, *without_group],
    }


@pytest.fixture(
    params=[
        "layer",
        pytest.param(
            "original",
            marks=pytest.mark.skipif(
                importlib.util.find_spec("kafka") is None, reason="kafka-python is not installed"
            ),
        ),
    ]
)
def module(request: pytest.FixtureRequest) -> Any:
    """The layer, or the original."""
    return ottla.compat.kafka if request.param == "layer" else importlib.import_module("kafka")


@pytest.mark.parametrize("name", SCENARIOS)
def test_traces(name: str, module: Any, kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topic = kafka_topic(4, config={"retention.ms": "-1"})
    trace = SCENARIOS[name](module, kafka.bootstrap, topic, f"g-{uuid.uuid4().hex[:8]}")
    assert trace == expected(topic)[name]
