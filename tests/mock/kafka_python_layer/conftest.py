"""Clients of kafka-python's layer on the mock cluster, closed with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ottla.compat.kafka import KafkaConsumer, KafkaProducer
from ottla.testing import MockCluster

Factory = Callable[..., Any]


@pytest.fixture
def consumer_of(mock_cluster: MockCluster) -> Iterator[Factory]:
    """Make consumers that start at the first record, and wait for short times."""
    made: list[KafkaConsumer] = []

    def make(*topics: str, **config: Any) -> KafkaConsumer:
        options = {"auto_offset_reset": "earliest", "heartbeat_interval_ms": 100, **config}
        options.setdefault("fetch_max_wait_ms", 50)
        made.append(KafkaConsumer(*topics, bootstrap_servers=mock_cluster.bootstrap, **options))
        return made[-1]

    yield make
    for consumer in made:
        consumer.close()


@pytest.fixture
def producer_of(mock_cluster: MockCluster) -> Iterator[Factory]:
    """Make producers."""
    made: list[KafkaProducer] = []

    def make(**config: Any) -> KafkaProducer:
        made.append(KafkaProducer(bootstrap_servers=mock_cluster.bootstrap, **config))
        return made[-1]

    yield make
    for producer in made:
        producer.close()
