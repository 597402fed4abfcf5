"""A real schema registry for the session, and clients of it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from tests.support.apicurio import ApicurioRegistry


@pytest.fixture(scope="session")
def _apicurio_session(request: pytest.FixtureRequest) -> Iterator[ApicurioRegistry]:
    with ApicurioRegistry() as registry:
        yield registry
        if request.session.testsfailed:
            registry.keep_log()


@pytest.fixture
def apicurio(_apicurio_session: ApicurioRegistry) -> Iterator[ApicurioRegistry]:
    """Apicurio Registry, which runs after each test, too; what tests register stays."""
    yield _apicurio_session
    _apicurio_session.node.resume()
    if _apicurio_session.node.pid is None:
        _apicurio_session.restart()


@pytest.fixture
def peer(apicurio: ApicurioRegistry) -> SchemaRegistryClient:
    """Confluent's client of the registry."""
    return SchemaRegistryClient({"url": apicurio.url})


@pytest.fixture
def subject() -> str:
    """A subject that no other test has, with characters that URLs encode."""
    return f"orders/ä {uuid.uuid4().hex[:8]}-value"
