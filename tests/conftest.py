"""Fixtures that every tier shares: the real cluster, and topics of one's own on it."""

from __future__ import annotations

import os
import re
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import kafka_properties
from tests.support.kafka_cluster import KafkaCluster

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from xdist.scheduler import Scheduling

# Spark's workers must be this interpreter, not whichever `python3` is first on PATH.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)

TopicFactory = Callable[..., str]

# What these tests do takes minutes, or time out where a machine is busy.
_DEEP = ("fault", "kerberos", "network")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `make deep` what kills brokers or builds networks."""
    for item in items:
        if any(item.get_closest_marker(name) for name in _DEEP):
            item.add_marker("deep")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    """Let `--dist=loadscope` give each worker tests with brokers of their own."""
    if config.getoption("dist") != "loadscope":
        return None
    from tests.gate.workers import BrokerScheduling

    return BrokerScheduling(config, log)


@pytest.fixture(scope="session")
def _kafka_session(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    # Only tests that kill brokers want the others to notice within a second: a machine that pauses
    # for two would have an election.
    kills = any(item.get_closest_marker("fault") for item in request.session.items)
    with KafkaCluster(config=kafka_properties.FAST_FAILOVER if kills else None) as cluster:
        yield cluster


@pytest.fixture
def kafka(_kafka_session: KafkaCluster) -> Iterator[KafkaCluster]:
    """The session's three brokers, all of them alive before and after each test."""
    _kafka_session.heal()
    yield _kafka_session
    _kafka_session.heal()


@pytest.fixture
def kafka_topic(kafka: KafkaCluster, request: pytest.FixtureRequest) -> TopicFactory:
    """Create a topic with a name of its own: `kafka_topic(partitions=3, config={…})`."""

    def create(
        partitions: int = 1, replication: int = 3, config: Mapping[str, str] | None = None
    ) -> str:
        stem = re.sub(r"[^a-zA-Z0-9._-]+", "-", request.node.name)[:60].strip("-")
        name = f"{stem}-{uuid.uuid4().hex[:8]}"
        kafka.create_topic(name, partitions, replication, config)
        return name

    return create


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless browser."""
    from tests.support.browser import running_browser

    with running_browser() as browser:
        yield browser
