"""One cluster for the tests of the layer, and the layer beside the original."""

from __future__ import annotations

import importlib
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from ottla.testing import MockCluster, MockRegistry
from tests.support.registry_layers import NAMES, Layer

LAYER = "ottla.compat.confluent_kafka"


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    """A cluster that does not create topics by itself."""
    with MockCluster(auto_create_topics=False) as cluster:
        yield cluster


@pytest.fixture
def name() -> str:
    """A name for a topic or a group that no other test uses."""
    return f"t-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def peer() -> Any:
    """The layer."""
    return importlib.import_module(LAYER)


@pytest.fixture(params=[LAYER, pytest.param("confluent_kafka", marks=pytest.mark.deep)])
def either(request: pytest.FixtureRequest) -> Any:
    """The layer, and the original as the proof that the test is right (in `make deep`)."""
    return importlib.import_module(request.param)


@pytest.fixture
def registry_clients(mock_registry: MockRegistry) -> dict[str, Any]:
    """A client of the original and one of the layer for one registry, by the package's name."""
    conf = {"url": mock_registry.url}
    return {name: Layer(name).SchemaRegistryClient(conf) for name in NAMES}
