"""The pytest fixture ``mock_cluster``: a fresh three-broker cluster in the process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ottla.testing import MockCluster


@pytest.fixture
def mock_cluster() -> Iterator[MockCluster]:
    """Give a Kafka cluster of three brokers in this process, ended with the test."""
    from ottla.testing import MockCluster

    with MockCluster(brokers=3) as cluster:
        yield cluster
