"""All pages of 10,000 topics and 2,000 groups on real brokers, wide and narrow, in a real browser.

The same scenario on the mock cluster is in ``tests/mock/test_console_scale.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Browser

import ottla
from ottla.admin import NewTopic
from ottla.console import Console, serve
from ottla.testing import MockRegistry
from tests.support.browser import NARROW, WIDE, open_page
from tests.support.console_pages import assert_pages_of_a_large_cluster
from tests.support.kafka_cluster import KafkaCluster

# Each group reads one of the first topics.
TOPICS, GROUPS = 10_000, 2_000
# A request of this many topics takes the controller 3 s; more would take longer than a session.
_BATCH, _THREADS = 500, 8
_JVM = ("-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

pytestmark = [pytest.mark.cluster, pytest.mark.deep]


@pytest.fixture(scope="module")
def large() -> Iterator[Console]:
    """The console of many topics and groups, on brokers that nothing else uses."""
    with KafkaCluster(jvm=_JVM) as kafka, MockRegistry() as registry:
        with ottla.Admin(kafka.bootstrap) as admin, ThreadPoolExecutor(_THREADS) as pool:
            topics = [NewTopic(f"topic-{n:05}", 1, 1) for n in range(TOPICS)]
            for first in range(0, TOPICS, _BATCH):
                admin.create_topics(topics[first : first + _BATCH], timeout=120)

            def commit(n: int) -> None:
                admin.alter_group_offsets(f"group-{n:04}", {(f"topic-{n:05}", 0): 0})

            list(pool.map(commit, range(GROUPS)))
        with ottla.Producer(kafka.bootstrap) as producer:
            for n in range(50):
                producer.send("topic-00000", b"value %d" % n)
        registry.register("topic-00000-value", '{"type": "string"}')
        with (
            ottla.Client(kafka.bootstrap) as client,
            serve(client, schema_registry=registry.url) as console,
        ):
            yield console


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_every_page_of_a_large_cluster(browser: Browser, large: Console, width: int) -> None:
    with open_page(browser, large.url, width=width) as page:
        assert_pages_of_a_large_cluster(page, TOPICS, GROUPS)
