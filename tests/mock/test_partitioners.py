"""Partitioners by librdkafka's names choose what librdkafka itself chooses."""

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


def librdkafkas(bootstrap: str, topic: str, keys: list[bytes], partitioner: str) -> list[int]:
    """Where librdkafka itself sends keys."""
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
def test_keys_go_where_librdkafka_sends_them(
    mock_cluster: MockCluster, wide: str, name: str
) -> None:
    made = random.Random(12)
    keys = [made.randbytes(1 + row % 50) for row in range(1_000)]
    theirs = librdkafkas(mock_cluster.bootstrap, wide, keys, name)
    with ottla.Producer(mock_cluster.bootstrap, partitioner=name) as producer:
        ours = [producer.send(wide, b"v", key).partition for key in keys]
    assert ours == theirs
