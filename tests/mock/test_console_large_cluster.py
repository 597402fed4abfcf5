"""The Map page of a large cluster in a real browser."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

import ottla
from ottla.console import serve
from ottla.testing import MockCluster
from tests.support.browser import open_page


@pytest.fixture
def large(browser: Browser) -> Iterator[Page]:
    """The page of a cluster of 200 brokers and 10,000 topics."""
    racks = [f"rack-{n % 3}" for n in range(200)]
    # A client of an earlier test may still look for its brokers at one of so many ports.
    with MockCluster(brokers=200, racks=racks, auto_create_topics=False) as cluster:
        for n in range(10_000):
            cluster.create_topic(f"topic-{n:05}", partitions=3)
        with (
            ottla.Client(cluster.bootstrap) as client,
            serve(client) as console,
            open_page(browser, console.url) as page,
        ):
            # Beside nine other workers, twenty times as long as alone.
            expect(page.locator(".tile")).to_have_count(200, timeout=120_000)
            yield page


def test_a_large_cluster_is_shown_by_rows(large: Page) -> None:
    """200 brokers and 10,000 topics: the page has elements for what is in view alone."""
    page = large
    expect(page.locator("main .found").first).to_have_text("10,000 topics")
    rows = page.locator(".row")
    expect(rows.first).to_contain_text("topic-00000")
    assert rows.count() < 60
    page.locator(".virtual").evaluate("list => { list.scrollTop = 44 * 7000; }")
    expect(page.get_by_role("link", name="topic-07000")).to_be_visible()
    assert rows.count() < 60
    page.get_by_label("Find").fill("topic-0999")
    expect(rows).to_have_count(10)


@pytest.mark.deep  # its times depend on the machine's load
def test_a_large_cluster_is_painted_within_a_second(large: Page) -> None:
    page = large
    # The metadata is there: a page that is opened now paints it all.
    started = time.monotonic()
    page.reload()
    page.wait_for_selector(".row .cell")
    shown = time.monotonic() - started
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint < 1_000
    # With all brokers and the first topics.
    assert shown < 2
