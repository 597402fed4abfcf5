"""Brokers of each release that only the gateway can reach, and a gateway in front of them."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ottla.testing import Gateway
from tests.support.guarded_kafka import GuardedKafka
from tests.support.kafka_releases import OLDER

TopicFactory = Callable[..., str]
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests here: they start brokers of three releases, and many JVMs."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("cluster")
            item.add_marker("deep")


@pytest.fixture(scope="package", params=OLDER)
def guarded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GuardedKafka]:
    """Provide three brokers of a release."""
    kafka = GuardedKafka(tmp_path_factory.mktemp("certificates"), request.param)
    with kafka:
        yield kafka


@pytest.fixture(scope="package")
def gateway(guarded: GuardedKafka) -> Iterator[Gateway]:
    """Provide a gateway in front of the brokers."""
    with Gateway(guarded.guarded, guarded.gateway_config) as gateway:
        yield gateway


@pytest.fixture
def topic(guarded: GuardedKafka, request: pytest.FixtureRequest) -> str:
    """Create a topic with two partitions on each broker."""
    stem = re.sub(r"[^a-zA-Z0-9._-]+", "-", request.node.name)[:60].strip("-")
    name = f"{stem}-{uuid.uuid4().hex[:8]}"
    guarded.create_topic(name, 6, 3)
    return name
