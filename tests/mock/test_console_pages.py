"""The console's pages in a real browser, on the mock cluster."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import ottla
from ottla.console import Console, serve
from ottla.testing import Fault, MockCluster
from tests.support.browser import NARROW, WIDE, assert_accessible, clipped, go, open_page
from tests.support.consumers import read

PAGES = ["map", "connections", "rates", "groups", "messages", "access", "doctor"]
HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script>\u202e"\'&amp;\x07'


def cell(page: Page, topic: str, partition: int) -> Any:
    row = page.locator(".row", has=page.get_by_role("link", name=topic, exact=True))
    return row.locator(f"[data-partition='{partition}']")


def test_the_address_bar_does_not_keep_the_token(page: Page, console: Console) -> None:
    assert "token" not in page.url
    assert str(console.token) not in page.content()


def test_the_map_follows_leaders_and_brokers(page: Page, mock_cluster: MockCluster) -> None:
    expect(page.locator(".tile .disk")).to_have_count(6)
    leader = mock_cluster.leader("orders", 0)
    assert leader is not None
    found = cell(page, "orders", 0)
    expect(found).to_have_text(str(leader))
    color = found.evaluate("each => getComputedStyle(each).backgroundColor")
    mock_cluster.stop_broker(leader)
    expect(page.locator(f".tile.moved[data-broker='{leader}']")).to_be_visible()
    expect(found).not_to_have_text(str(leader))
    assert found.evaluate("each => getComputedStyle(each).backgroundColor") != color
    expect(found).to_have_class(re.compile("under"))
    ghost = page.locator(f".tile.ghost[data-broker='{leader}']")
    expect(ghost).to_contain_text("6 replicas assigned")
    expect(page.locator(".events")).to_contain_text("orders-0 changed from")
    mock_cluster.start_broker(leader)
    expect(ghost).to_have_count(0)


def test_a_topic_shows_each_partition(page: Page, mock_cluster: MockCluster) -> None:
    page.get_by_role("link", name="orders", exact=True).click()
    expect(page.locator(".row.partition")).to_have_count(6)
    leader = mock_cluster.leader("orders", 5)
    row = page.locator(".row.partition[data-partition='5']")
    expect(row).to_contain_text(f"broker {leader} leads")
    expect(row.locator(".replica")).to_have_count(3)
    page.get_by_role("link", name="all topics").click()
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()


def test_topics_are_found_and_ordered(page: Page, mock_cluster: MockCluster) -> None:
    for name in ["payments", "refunds"]:
        mock_cluster.create_topic(name, partitions=2)
    expect(page.locator("main .found").first).to_have_text("3 topics")
    page.get_by_label("Find").fill("PAY")
    expect(page.locator("main .found").first).to_have_text("1 topic")
    expect(page.locator(".row")).to_have_count(1)
    page.get_by_label("Find").fill("")
    page.get_by_label("Order").select_option("partitions")
    expect(page.locator(".row").first).to_contain_text("orders")


def test_connections_show_their_phases(page: Page, client: ottla.Client) -> None:
    go(page, "connections")
    [status] = [each for each in client.connections() if each.state == "connected"][:1]
    found = page.locator(f".connection[data-broker='{status.broker}']").first
    for phase, state in [
        ("DNS", "passed"),
        ("TCP", "passed"),
        ("TLS", "unused"),
        ("SASL", "unused"),
    ]:
        step = found.locator(f"[data-phase='{phase}']")
        expect(step).to_have_attribute("data-phase-state", state)
    expect(found.locator("[data-phase='ready']")).to_contain_text("in ")
    found.get_by_text("versions negotiated").click()
    expect(found.locator(".versions")).to_contain_text(f"Fetch v{status.api_versions['Fetch']}")


def test_rates_of_a_producer(
    browser: Browser, mock_cluster: MockCluster, orders: str, producer: ottla.Producer
) -> None:
    with serve(producer) as console, open_page(browser, console.url) as page:
        go(page, "rates")
        chart = page.locator("[data-chart='Records']")
        expect(chart.locator("canvas")).to_be_visible()
        for _ in range(100):
            producer.send(orders, b"value")
        expect(chart.locator("dd").first).not_to_have_text(re.compile(r"^\D*0?$"))
        for title in ["Requests", "Bytes", "Latency", "Buffer", "Batches", "Compression"]:
            expect(page.locator(f"[data-chart='{title}']")).to_be_visible()
        fault = Fault.error("NOT_LEADER_OR_FOLLOWER")
        mock_cluster.inject(fault, api="Produce", times=1)
        mock_cluster.inject(Fault.delay(0.4), api="Produce", times=1)
        producer.send(orders, b"value").result(timeout=30)
        retries = page.get_by_role("region", name="Retries by cause")
        expect(retries).to_contain_text("NOT_LEADER_OR_FOLLOWER")
        slowest = page.get_by_role("region", name="Slowest requests").locator("tbody tr").first
        expect(slowest).to_contain_text("Produce")


def test_the_cadences_of_a_consumer(browser: Browser, mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("orders", partitions=1)
    with (
        ottla.Consumer(
            mock_cluster.bootstrap, group_id="billing", auto_offset_reset="earliest"
        ) as consumer,
        serve(consumer) as console,
        open_page(browser, console.url) as page,
    ):
        mock_cluster.append("orders", 0, [b"x"])
        consumer.subscribe(["orders"])
        read(consumer, 1)
        consumer.commit()
        go(page, "connections")
        for cadence in ["Fetches", "Heartbeats", "Commits"]:
            expect(page.locator(f"[data-cadence='{cadence}']")).to_contain_text("ago")
        roles = page.locator(".connection[data-role='coordinator']")
        expect(roles).to_contain_text("group coordinator")


def test_groups_show_lag_and_members(page: Page, mock_cluster: MockCluster) -> None:
    go(page, "groups")
    expect(page.locator("tbody tr")).to_contain_text(["billing"])
    expect(page.locator("td[data-lag]")).to_have_attribute("data-lag", "42")
    page.get_by_role("link", name="billing").click()
    expect(page.locator("#total-lag")).to_have_text("42")
    consumer = ottla.Consumer(mock_cluster.bootstrap, group_id="billing", client_id="reader")
    with consumer:
        consumer.subscribe(["orders"])
        assert len(read(consumer, 42)) == 42
        consumer.commit()
        expect(page.locator("#total-lag")).to_have_attribute("data-lag", "0")
        expect(page.locator("p.big")).to_contain_text("keeps up")
        members = page.get_by_role("region", name="Members")
        expect(members).to_contain_text("orders: 0, 1, 2, 3, 4, 5")
        expect(members).to_contain_text("reader")


def test_a_plan_of_a_reset_changes_nothing(page: Page, mock_cluster: MockCluster) -> None:
    go(page, "groups?group=billing")
    page.get_by_text("Reset offsets").click()
    page.get_by_label("Reset to").fill("earliest")
    page.get_by_role("button", name="Show the plan").click()
    plan = page.get_by_role("region", name="Plan: New offsets")
    expect(plan.locator("tbody tr")).to_have_count(6)
    expect(page.get_by_text("This console is read-only")).to_be_visible()
    expect(page.get_by_role("button", name="Reset the offsets")).to_be_hidden()
    assert mock_cluster.committed("billing")["orders", 0] == 3
    page.get_by_label("Reset to").fill("someday")
    expect(plan).to_have_count(0)
    page.get_by_role("button", name="Show the plan").click()
    expect(page.locator(".notice.bad")).to_contain_text("someday")


def test_messages_are_read_filtered_and_saved(
    page: Page, mock_cluster: MockCluster, tmp_path: Path
) -> None:
    go(page, "messages")
    page.get_by_label("Topic").fill("orders")
    page.get_by_role("button", name="Read", exact=True).click()
    expect(page.locator(".messages li")).to_have_count(60)
    page.get_by_text("Filters and decoding").click()
    page.get_by_label("JSON field").fill("customer.n=3")
    page.get_by_label("Key contains").fill("key")
    page.get_by_label("Read", exact=True).select_option("start")
    page.get_by_role("button", name="Read", exact=True).click()
    expect(page.locator(".messages li")).to_have_count(9)
    first = page.locator(".messages li").first
    first.locator("summary").click()
    expect(first.locator("pre").nth(1)).to_contain_text('"n": 3')
    # The command to copy reads the same records.
    command = page.locator("code.command").inner_text()
    done = subprocess.run(
        ["bash", "-c", command.replace("ottla ", "python -m ottla ", 1)],
        capture_output=True,
        check=True,
        timeout=120,
        env=_environment(),
    )
    assert sorted(json.loads(line)["id"] for line in done.stdout.splitlines()) == list(
        range(3, 60, 7)
    )
    for name, kind in [("JSON lines", "jsonl"), ("CSV", "csv"), ("Parquet", "parquet")]:
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        assert download.value.suggested_filename == f"orders.{kind}"
        path = tmp_path / kind
        download.value.save_as(path)
        assert _count(path, kind) == 9


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def _count(path: Path, kind: str) -> int:
    if kind == "parquet":
        import pyarrow.parquet as pq

        rows: int = pq.read_table(path).num_rows
        return rows
    lines = path.read_text(encoding="utf-8").splitlines()
    return len(lines) - (kind == "csv")


def test_new_records_are_followed(page: Page, producer: ottla.Producer) -> None:
    go(page, "messages?topic=orders&mode=tail")
    expect(page.get_by_text("waiting for new ones")).to_be_visible()
    expect(page.locator(".messages li")).to_have_count(0)
    producer.send("orders", b"fresh \xff", headers=[("trace", b"1")]).result(timeout=30)
    found = page.locator(".messages li")
    expect(found).to_have_count(1)
    # It is no UTF-8.
    expect(found).to_contain_text("0x" + b"fresh \xff".hex())
    producer.send("orders", b"another").result(timeout=30)
    expect(found).to_have_count(2)
    expect(found.first).to_contain_text("another")
    command = page.locator("code.command")
    expect(command).to_contain_text("--offset=end")
    expect(command).not_to_contain_text(" -e")
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON lines").click()
    assert download.value.path().read_text(encoding="utf-8").count("\n") == 2


def test_hostile_texts_are_shown_as_text(
    page: Page, producer: ottla.Producer, mock_cluster: MockCluster
) -> None:
    """Records, names and errors are data. A dialog or an error of a script would fail the test."""
    hostile = HOSTILE.encode()
    mock_cluster.create_topic("evil", partitions=1)
    producer.send("evil", hostile, key=hostile, headers=[(HOSTILE, hostile)]).result(timeout=30)
    go(page, "messages?topic=evil")
    record = page.locator(".messages li")
    record.locator("summary").click()
    expect(record.locator("pre").first).to_contain_text("<script>alert(2)</script>")
    expect(record.locator("pre").first).to_contain_text("\\u202e")
    assert page.locator("main img, main script").count() == 0
    # Names and texts that a broker should not send, but could.
    row = {"name": HOSTILE, "internal": False, "partitions": 1, "offline": 0}
    row |= {"under_replicated": 0, "cells": [[0, 1, "ok"]]}
    rows = {"version": 1, "total": 1, "start": 0, "rows": [row]}
    page.route("**/api/topics*", lambda route: route.fulfill(json=rows))
    page.route("**/api/groups*", lambda route: route.fulfill(status=502, json={"message": HOSTILE}))
    go(page, "map")
    expect(page.locator("a.topic")).to_contain_text("<img src=x")
    go(page, "groups")
    expect(page.locator("main .found").first).to_contain_text("<script>alert(2)</script>")
    assert page.locator("main img, main script").count() == 0
    width = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert width <= 0


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (WIDE, "light"),
        (NARROW, "dark"),
        # The same rules in the other theme.
        pytest.param(WIDE, "dark", marks=pytest.mark.deep),
        pytest.param(NARROW, "light", marks=pytest.mark.deep),
    ],
)
def test_every_page_is_accessible(
    browser: Browser, mock_cluster: MockCluster, orders: str, width: int, scheme: str
) -> None:
    with (
        ottla.Producer(mock_cluster.bootstrap) as producer,
        serve(producer) as console,
        open_page(browser, console.url, width=width, scheme=scheme) as page,
    ):
        expect(page.locator("#status")).to_have_text("live")
        expect(page.locator(".tile .good")).to_have_count(3)
        mock_cluster.stop_broker(2)
        degraded = "degraded: broker 2 gone, 6 partitions under-replicated"
        expect(page.locator("#status")).to_have_text(degraded)
        for place in [
            *PAGES,
            f"map?topic={orders}",
            "map?broker=1",
            "map?broker=2",
            "groups?group=billing",
            "messages?topic=orders",
        ]:
            go(page, place)
            _settle(page, place)
            assert_accessible(page)
            # Nothing makes the page wider than the screen.
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place
            assert clipped(page) == [], place


def _settle(page: Page, place: str) -> None:
    """Wait until a page shows its data."""
    shown = {
        "map": ".cell",
        "connections": ".connection",
        "rates": ".chart dd",
        "groups": "table",
        "messages": "form",
        "access": "#users .found",
        "doctor": ".box",
        "map?topic=orders": ".configs details",
        "map?broker=1": ".configs details",
        "map?broker=2": ".configs .notice",
        "groups?group=billing": "#total-lag",
        "messages?topic=orders": ".messages li",
    }
    page.wait_for_selector(shown[place])


def test_the_keyboard_is_enough(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.goto(page.url.partition("#")[0])
    for title in ["Map", "Connections", "Rates", "Groups", "Messages", "Doctor"]:
        link = page.locator("#pages").get_by_role("link", name=title)
        link.focus()
        page.keyboard.press("Enter")
        expect(page.locator("h2")).to_have_text(title)
        expect(link).to_have_attribute("aria-current", "page")
    # A diagnosis and a reading, without a mouse.
    page.get_by_role("button", name="Run the diagnosis").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".verdict")).to_contain_text("No errors")
    go(page, "messages")
    page.get_by_label("Topic").focus()
    page.keyboard.type("orders")
    page.keyboard.press("Enter")
    record = page.locator(".messages li summary").first
    record.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".messages pre").first).to_be_visible()
    # A list that is drawn again keeps the focus.
    go(page, "map")
    topic = page.get_by_role("link", name="orders", exact=True)
    topic.focus()
    page.wait_for_timeout(2_500)
    expect(topic).to_be_focused()


def test_a_console_that_ends_is_noticed(
    browser: Browser, client: ottla.Client, orders: str
) -> None:
    console = serve(client)
    with open_page(browser, console.url) as page:
        expect(page.locator("#status")).to_have_text("live")
        console.close()
        expect(page.locator("#status")).to_contain_text("does not respond")
        page.get_by_role("link", name="Groups").click()
        expect(page.locator("main .found").first).to_contain_text("does not respond")
