"""What every page of the console must show of a large cluster, on any kind of cluster.

The cluster has topics ``topic-00000`` … with one partition each, groups ``group-0000`` … of which
each has read nothing of the topic with its number, fifty records in the first topic, and a subject
for its values.
"""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.support.browser import assert_accessible, clipped, go

_SLOW_MS = 60_000


def assert_pages_of_a_large_cluster(page: Page, topics: int, groups: int) -> None:
    """Assert that each page shows its data, is accessible, clips nothing, and has few elements."""
    found = page.locator("main .found").first
    for place, selector in [
        ("map", ".row .cell"),
        ("map?topic=topic-00000", ".configs details"),
        ("map?broker=1", ".configs details"),
        ("connections", ".connection"),
        ("rates", ".chart dd"),
        ("groups", "tbody tr"),
        ("groups?group=group-0000", "#total-lag"),
        ("messages?topic=topic-00000", ".messages li"),
        ("registry", ".row"),
        ("registry?subject=topic-00000-value", "pre"),
        ("doctor", ".box"),
    ]:
        go(page, place)
        expect(page.locator(f"main {selector}").first).to_be_visible(timeout=_SLOW_MS)
        assert_accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place
        assert clipped(page) == [], place
        assert page.locator("main *").count() < 10_000, place
    go(page, "map")
    # Kafka's own topics are counted, too.
    expect(page.locator(".totals")).to_contain_text("topics")
    page.get_by_label("Find").fill(f"topic-{topics - 1:05}")
    expect(page.locator(".row")).to_have_count(1)
    go(page, "groups")
    expect(found).to_contain_text(f"300 of {groups:,}", timeout=_SLOW_MS)
    page.get_by_label("Find").fill(f"group-{groups - 1:04}")
    expect(page.locator("tbody tr")).to_have_count(1)
    go(page, "groups?group=group-0000")
    expect(page.locator("#total-lag")).to_have_text("50", timeout=_SLOW_MS)
