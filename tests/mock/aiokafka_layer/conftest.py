"""What the tests of aiokafka's layer share: a topic of two partitions on the mock cluster."""

from __future__ import annotations

import pytest

from ottla.testing import MockCluster


@pytest.fixture
def pairs(mock_cluster: MockCluster) -> str:
    """A topic of two partitions with ten records each: values "0-0" to "1-9"."""
    mock_cluster.create_topic("pairs", partitions=2)
    for partition in range(2):
        values = [f"{partition}-{offset}".encode() for offset in range(10)]
        mock_cluster.append("pairs", partition, values)
    return "pairs"
