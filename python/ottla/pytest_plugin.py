"""The pytest fixtures ``mock_cluster`` and ``mock_registry``, each new for every test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ottla.testing import MockCluster, MockRegistry


@pytest.fixture
def mock_cluster() -> Iterator[MockCluster]:
    """Provide a Kafka cluster of three brokers in this process, stopped after the test."""
    from ottla.testing import MockCluster

    with MockCluster(brokers=3) as cluster:
        yield cluster


@pytest.fixture
def mock_registry() -> Iterator[MockRegistry]:
    """Provide a schema registry in this process, stopped after the test."""
    from ottla.testing import MockRegistry

    with MockRegistry() as registry:
        yield registry
