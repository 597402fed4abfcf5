"""All pages of a large cluster of real brokers, wide and narrow, in a real browser.

The same scenario on the mock cluster is in ``tests/mock/test_console_scale.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

import ottla
from ottla.console import Console, serve
from ottla.testing import MockRegistry
from tests.support.browser import NARROW, WIDE, open_page
from tests.support.console_pages import assert_pages_of_a_large_cluster
from tests.support.kafka_cluster import KafkaCluster

# Each group reads one of the first topics.
TOPICS, GROUPS = 1_000, 500

pytestmark = [pytest.mark.cluster, pytest.mark.deep]


@pytest.fixture
def large(kafka: KafkaCluster) -> Iterator[Console]:
    """The console of many topics and groups, which are deleted at the end."""
    topics = [ottla.admin.NewTopic(f"topic-{n:05}", 1, 1) for n in range(TOPICS)]
    groups = [f"group-{n:04}" for n in range(GROUPS)]
    with ottla.Admin(kafka.bootstrap) as admin, MockRegistry() as registry:
        for first in range(0, TOPICS, 200):
            admin.create_topics(topics[first : first + 200], timeout=120)
        try:
            for n, group in enumerate(groups):
                admin.alter_group_offsets(group, {(f"topic-{n:05}", 0): 0})
            with ottla.Producer(kafka.bootstrap) as producer:
                for n in range(50):
                    producer.send("topic-00000", b"value %d" % n)
            registry.register("topic-00000-value", '{"type": "string"}')
            with (
                ottla.Client(kafka.bootstrap) as client,
                serve(client, schema_registry=registry.url) as console,
            ):
                yield console
        finally:
            admin.delete_groups(groups, timeout=120)
            admin.delete_topics([topic.name for topic in topics], timeout=120)


def test_every_page_of_a_large_cluster(browser: Browser, large: Console) -> None:
    for width in (WIDE, NARROW):
        with open_page(browser, large.url, width=width) as page:
            assert_pages_of_a_large_cluster(page, TOPICS, GROUPS)
