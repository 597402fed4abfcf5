"""The pytest fixture ``mock_cluster``: a new three-broker cluster in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ottla.testing import MockCluster


@pytest.fixture
def mock_cluster() -> Iterator[MockCluster]:
    """Provide a Kafka cluster of three brokers in this process, stopped after the test."""
    from ottla.testing import MockCluster

    with MockCluster(brokers=3) as cluster:
        yield cluster
