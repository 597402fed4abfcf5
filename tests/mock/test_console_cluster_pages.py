"""What the console shows of the cluster, in a real browser: topics, brokers, rates and failures."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

import ottla
from ottla.console import serve
from ottla.testing import MockCluster
from tests.support.browser import NARROW, WIDE, assert_accessible, clipped, go, open_page

# Whether a rate of zero was shown that was none: the client asks for metadata every two seconds, so
# of the ten seconds of a rate some have requests. A busy machine may have sent none for longer.
_WATCH_RATE = """async () => {
  const { history } = await import("/static/stream.js");
  const grown = () => {
    const newest = history[history.length - 1];
    const window = history.filter(each => each.time > newest.time - 10);
    return newest.values["request-total"] > window[0].values["request-total"];
  };
  const figure = document.querySelector("[data-chart='Requests']");
  return new Promise(done => {
    const seen = new Set();
    const watch = new MutationObserver(() => {
      const shown = figure.querySelector("dd").textContent;
      if (shown !== "0") seen.add(shown);
      const isWrong = shown === "0" && grown();
      if (seen.size >= 3 || isWrong) { watch.disconnect(); done(isWrong); }
    });
    watch.observe(figure, { subtree: true, childList: true });
  });
}"""

# An event that lists others: one of them, and its head.
_PARTS = ("li", "summary")


@contextmanager
def written_to(mock_cluster: MockCluster, topic: str) -> Iterator[None]:
    """Append to a topic during the block: a rate needs growth between two samples of a page."""
    ended = threading.Event()

    def append() -> None:
        while not ended.wait(0.05):
            mock_cluster.append(topic, 0, [b"value"] * 10)

    thread = threading.Thread(target=append)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_topic_shows_what_is_in_it_and_who_reads_it(
    page: Page, client: ottla.Client, mock_cluster: MockCluster
) -> None:
    with ottla.Admin(client) as admin:
        resource = ottla.admin.ConfigResource("topic", "orders")
        admin.alter_configs({resource: {"retention.ms": "1000000"}})
    go(page, "map?topic=orders")
    facts = page.locator(".big-facts")
    expect(facts).to_contain_text("offsets in the log60")
    expect(page.locator(".row.partition[data-partition='5'] .offsets")).to_contain_text("0 to 10, ")
    set_here = page.get_by_role("region", name="Differences from the defaults")
    expect(set_here.locator("tbody tr")).to_have_count(1)
    expect(set_here).to_contain_text("retention.ms1000000")
    groups = page.get_by_role("region", name="Consumer groups of the topic")
    expect(groups).to_contain_text("billing")
    written = page.locator("[data-chart='Written'] dd")
    with written_to(mock_cluster, "orders"):
        expect(written).to_have_text(re.compile(r"[1-9]"))
    page.get_by_role("link", name="Read messages").click()
    expect(page.locator(".messages li")).to_have_count(100)


def test_a_broker_shows_its_disks_and_configuration(page: Page, mock_cluster: MockCluster) -> None:
    page.get_by_role("link", name="broker 2", exact=True).click()
    expect(page.locator("main .found").first).to_contain_text("127.0.0.1:")
    expect(page.locator(".big-facts")).to_contain_text("leads2 partitions")
    expect(page.get_by_role("region", name="Log directories").locator("tbody tr")).to_have_count(2)
    expect(page.locator(".configs summary")).to_contain_text("default")
    mock_cluster.stop_broker(2)
    expect(page.locator("main .found").first).to_contain_text("Down or gone")
    expect(page.locator(".configs .notice")).to_contain_text("broker 2 is down or gone")
    # What it reported before is not true any more.
    expect(page.get_by_text("Unknown while the broker is down.")).to_be_visible()
    expect(page.locator(".big-facts")).to_contain_text("records written\u2013")


def test_the_rates_of_the_cluster_are_apart_from_the_client(
    page: Page, mock_cluster: MockCluster
) -> None:
    go(page, "rates")
    by_broker = page.get_by_role("region", name="Writes by broker")
    with written_to(mock_cluster, "orders"):
        expect(page.get_by_role("region", name="Busiest topics")).to_contain_text("orders")
        expect(by_broker.locator("tbody tr")).to_have_count(3)
    sent = page.locator("[data-chart='Requests'] dd").first
    expect(sent).to_have_text(re.compile(r"[1-9]"))
    assert not page.evaluate(_WATCH_RATE)


def test_a_broker_that_ends_is_one_line(
    browser: Browser, client: ottla.Client, mock_cluster: MockCluster
) -> None:
    mock_cluster.create_topic("wide", partitions=60)
    with serve(client) as console, open_page(browser, console.url, width=NARROW) as page:
        expect(page.locator("#status")).to_have_text("live")
        expect(page.locator(".tile .good")).to_have_count(3)
        mock_cluster.stop_broker(3)
        status = page.locator("#status")
        expect(status).to_have_text("degraded: broker 3 gone, 60 partitions under-replicated")
        line = page.locator(".events [data-kind='leaders_moved']")
        expect(line).to_have_count(1)
        expect(line.locator("summary")).to_have_text("20 leaders moved from broker 3")
        expect(page.locator(".events [data-kind='leader_changed']")).to_have_count(0)
        line.locator("summary").click()
        expect(line.locator("li")).to_have_count(20)
        expect(line.locator("li").first).to_contain_text("wide-")
        # They have the width of the line.
        widths = [line.locator(each).first.evaluate("it => it.clientWidth") for each in _PARTS]
        assert widths[0] == widths[1]
        row = page.locator(".row")
        expect(row.locator("small").first).to_have_text("60 under-replicated", use_inner_text=True)
        assert clipped(page) == []
        go(page, "connections")
        lost = page.locator(".connection.lost[data-broker='3']")
        expect(lost).to_contain_text("cause: ")
        expect(lost).to_contain_text("the broker closed the connection")
        mock_cluster.start_broker(3)
        expect(status).to_have_text("live")


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_partitions_without_a_cell_are_counted(
    browser: Browser, client: ottla.Client, mock_cluster: MockCluster, width: int
) -> None:
    """Regression: the last cell was cut, and the number of the others was out of sight."""
    mock_cluster.create_topic("few", partitions=6)
    mock_cluster.create_topic("wide", partitions=1_200)
    with serve(client) as console, open_page(browser, console.url, width=width) as page:
        few, wide = page.locator(".row").first, page.locator(".row").last
        expect(wide.locator(".more")).to_have_text(re.compile(r"^\+ 1,1\d\d$"))
        expect(few.locator(".more")).to_be_hidden()
        first_line = "cells => cells.filter(each => each.offsetTop === cells[0].offsetTop).length"
        seen = wide.locator(".cell").evaluate_all(first_line)
        assert wide.locator(".more").inner_text() == f"+ {1_200 - seen:,}"
        assert few.locator(".cell").evaluate_all(first_line) == 6
        assert clipped(page) == []


def test_a_broker_with_too_many_replicas_is_accessible(
    page: Page, mock_cluster: MockCluster
) -> None:
    mock_cluster.create_topic("wide", partitions=4_100)
    expect(page.locator(".tile .warn")).to_have_count(3)
    expect(page.locator(".tile .warn").first).to_contain_text("replicas that Kafka advises")
    assert_accessible(page)


def test_tables_are_not_clipped_on_a_phone(
    browser: Browser, client: ottla.Client, orders: str
) -> None:
    with serve(client) as console, open_page(browser, console.url, width=NARROW) as page:
        go(page, "groups")
        row = page.get_by_role("row", name="billing")
        expect(row.get_by_role("cell")).to_have_count(7)
        expect(row).to_contain_text("42")
        label = "cell => getComputedStyle(cell, '::before').content"
        assert row.locator("td[data-lag]").evaluate(label) == '"lag"'
        assert clipped(page) == []


def test_a_diagnosis_without_errors_is_one_screen(page: Page) -> None:
    go(page, "doctor")
    page.get_by_role("button", name="Run the diagnosis").click()
    expect(page.locator(".verdict")).to_contain_text("No errors")
    below = "document.documentElement.scrollHeight - innerHeight"
    assert page.evaluate(below) <= 0
    box = page.locator("[data-box='TCP']")
    box.locator("summary").click()
    # The name of the check, and its target.
    expect(box.locator("li b").first).to_have_text(re.compile(r"\w"))
    expect(box.locator("li").first).to_contain_text("127.0.0.1")


def test_a_limit_is_told_as_a_limit(page: Page) -> None:
    go(page, "messages?topic=orders")
    expect(page.locator(".messages li")).to_have_count(60)
    page.get_by_label("At most").fill("5000")
    page.get_by_role("button", name="Read", exact=True).click()
    status = page.locator("main .found").first
    expect(status).to_contain_text("at most 1,000 records at a time")
    expect(status).to_contain_text("up to 100,000")


def test_a_console_that_was_restarted_says_so_once(
    browser: Browser, client: ottla.Client, orders: str
) -> None:
    console = serve(client)
    with open_page(browser, console.url) as page:
        expect(page.locator("#status")).to_have_text("live")
        go(page, "groups")
        expect(page.locator("td[data-lag]")).to_have_attribute("data-lag", "42")
        console.close()
        expect(page.locator("#status")).to_contain_text("does not respond")
        with serve(client, port=console.port):
            restarted = "the console was restarted: open the new link that it printed"
            expect(page.locator("#status")).to_have_text(restarted)
            # It keeps what it has; each part of the page asks once more at most.
            expect(page.get_by_text("restarted")).to_have_count(1)
            requests: list[str] = []
            page.on("request", lambda request: requests.append(request.url))
            page.wait_for_timeout(3_500)
            assert len(requests) == len(set(requests))


def test_a_console_without_a_token_reconnects(
    browser: Browser, client: ottla.Client, orders: str
) -> None:
    console = serve(client, token=False)
    with open_page(browser, console.url) as page:
        expect(page.locator("#status")).to_have_text("live")
        console.close()
        expect(page.locator("#status")).to_contain_text("does not respond")
        with serve(client, token=False, port=console.port):
            expect(page.locator("#status")).to_have_text("live")
