"""Fixtures that every tier shares: the real cluster, and topics of one's own on it."""

from __future__ import annotations

import os
import re
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping

import pytest

from tests.support.kafka_cluster import KafkaCluster

# Spark's workers must be this interpreter, not whichever `python3` is first on PATH.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)

TopicFactory = Callable[..., str]


@pytest.fixture(scope="session")
def _kafka_session() -> Iterator[KafkaCluster]:
    with KafkaCluster() as cluster:
        yield cluster


@pytest.fixture
def kafka(_kafka_session: KafkaCluster) -> Iterator[KafkaCluster]:
    """The session's three brokers, all of them alive before and after each test."""
    _kafka_session.heal()
    yield _kafka_session
    _kafka_session.heal()


@pytest.fixture
def kafka_topic(kafka: KafkaCluster, request: pytest.FixtureRequest) -> TopicFactory:
    """Create a topic with a name of its own: `kafka_topic(partitions=3, config={…})`."""

    def create(
        partitions: int = 1, replication: int = 3, config: Mapping[str, str] | None = None
    ) -> str:
        stem = re.sub(r"[^a-zA-Z0-9._-]+", "-", request.node.name)[:60].strip("-")
        name = f"{stem}-{uuid.uuid4().hex[:8]}"
        kafka.create_topic(name, partitions, replication, config)
        return name

    return create
