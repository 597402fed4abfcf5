"""Partitioners with librdkafka's names choose the same partitions as librdkafka."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer as Librdkafka

import ottla
from ottla.testing import MockCluster

PARTITIONS = 13


@pytest.fixture
def wide(mock_cluster: MockCluster) -> str:
    """A topic of thirteen partitions."""
    mock_cluster.create_topic("wide", partitions=PARTITIONS)
    return "wide"


def librdkafka_partitions(
    bootstrap: str, topic: str, keys: list[bytes], partitioner: str
) -> list[int]:
    """Return the partition that librdkafka chooses for each key."""
    found: dict[int, int] = {}
    settings = {"bootstrap.servers": bootstrap, "partitioner": partitioner, "linger.ms": 0}
    producer = Librdkafka(settings)

    def noting(row: int) -> Callable[[Any, Any], None]:
        def note(error: Any, message: Any) -> None:
            assert error is None, error
            found[row] = message.partition()

        return note

    for row, key in enumerate(keys):
        producer.produce(topic, b"v", key, on_delivery=noting(row))
        producer.poll(0)
    assert producer.flush(60) == 0
    return [found[row] for row in range(len(keys))]


@pytest.mark.parametrize("name", ["consistent_random", "consistent", "murmur2_random", "murmur2"])
def test_partitions_match_librdkafka(mock_cluster: MockCluster, wide: str, name: str) -> None:
    made = random.Random(12)
    keys = [made.randbytes(1 + row % 50) for row in range(1_000)]
    expected = librdkafka_partitions(mock_cluster.bootstrap, wide, keys, name)
    with ottla.Producer(mock_cluster.bootstrap, partitioner=name) as producer:
        actual = [producer.send(wide, b"v", key).partition for key in keys]
    assert actual == expected
