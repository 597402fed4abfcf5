"""All pages of a cluster of 10,000 topics and 2,000 groups, wide and narrow, in a real browser.

The same scenario on real brokers is in ``tests/cluster/test_console_scale.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

import ottla
from ottla.console import Console, serve
from ottla.testing import MockCluster, MockRegistry
from tests.support.browser import NARROW, WIDE, open_page
from tests.support.console_pages import assert_pages_of_a_large_cluster

TOPICS, GROUPS = 10_000, 2_000

pytestmark = pytest.mark.deep  # the cluster is made once, and read for a minute


@pytest.fixture(scope="module")
def large() -> Iterator[Console]:
    """The console of a large cluster with a registry."""
    with MockCluster(brokers=3) as cluster, MockRegistry() as registry:
        for n in range(TOPICS):
            cluster.create_topic(f"topic-{n:05}", partitions=1)
        for n in range(GROUPS):
            cluster.commit(f"group-{n:04}", f"topic-{n:05}", 0, 0)
        with ottla.Producer(cluster.bootstrap) as producer:
            for n in range(50):
                producer.send("topic-00000", b"value %d" % n)
        registry.register("topic-00000-value", '{"type": "string"}')
        with (
            ottla.Client(cluster.bootstrap) as client,
            serve(client, schema_registry=registry.url) as console,
        ):
            yield console


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_every_page_of_a_large_cluster(browser: Browser, large: Console, width: int) -> None:
    with open_page(browser, large.url, width=width) as page:
        assert_pages_of_a_large_cluster(page, TOPICS, GROUPS)
