"""A topic, a client and a producer on the mock cluster, closed with the test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ottla
from ottla.testing import MockCluster


@pytest.fixture
def topic(mock_cluster: MockCluster) -> str:
    """A topic of three partitions."""
    mock_cluster.create_topic("orders", partitions=3)
    return "orders"


@pytest.fixture
def single(mock_cluster: MockCluster) -> str:
    """A topic of one partition."""
    mock_cluster.create_topic("single", partitions=1)
    return "single"


@pytest.fixture
def client(mock_cluster: MockCluster) -> Iterator[ottla.Client]:
    """A connected client."""
    with ottla.Client(mock_cluster.bootstrap) as client:
        yield client


@pytest.fixture
def producer(mock_cluster: MockCluster) -> Iterator[ottla.Producer]:
    """A producer that does not linger."""
    with ottla.Producer(mock_cluster.bootstrap, linger_ms=0) as producer:
        yield producer
