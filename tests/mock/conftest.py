"""A topic, a client, a producer and a console on the mock cluster, closed with the test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import ottla
from ottla.testing import MockCluster
from tests.support.forgotten import assert_disconnected

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from ottla.console import Console


@pytest.fixture
def mock_cluster() -> Iterator[MockCluster]:
    """Three brokers in this process, whose clients end with the test."""
    with MockCluster(brokers=3) as cluster:
        yield cluster
        assert_disconnected(cluster)


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


@pytest.fixture
def console(client: ottla.Client) -> Iterator[Console]:
    """A console for the client."""
    from ottla.console import serve

    with serve(client) as console:
        yield console


@pytest.fixture
def orders(mock_cluster: MockCluster) -> str:
    """A topic with records of JSON, and a group that has read some of them."""
    mock_cluster.create_topic("orders", partitions=6)
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for n in range(60):
            value = json.dumps({"id": n, "customer": {"n": n % 7}}).encode()
            producer.send("orders", value, key=b"key %d" % n, partition=n % 6)
    for partition in range(6):
        mock_cluster.commit("billing", "orders", partition, 3)
    return "orders"


@pytest.fixture
def page(browser: Browser, orders: str, console: Console) -> Iterator[Page]:
    """The page of the console in a browser."""
    from playwright.sync_api import expect

    from tests.support.browser import open_page

    with open_page(browser, console.url) as page:
        expect(page.locator("#status")).to_have_text("live")
        yield page
