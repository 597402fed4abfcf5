"""Every page of the console on real brokers, wide and narrow, and while a broker is gone.

``OTTLA_SCREENSHOTS=DIRECTORY`` saves what they look like.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import ottla
from ottla.admin import Acl, ConfigResource, NewTopic, QuotaEntity, SetPassword
from ottla.console import Console, serve
from ottla.testing import MockRegistry
from tests.support import kafka_properties, kafka_releases
from tests.support.browser import NARROW, WIDE, assert_accessible, clipped, go, open_page
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.deep]

# Of these, each broker leads a third.
PARTITIONS = 1_029
_SLOW_MS = 90_000


@dataclass(frozen=True)
class Scene:
    """A cluster with something to see on each page, and its console."""

    kafka: KafkaCluster
    console: Console


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """Three brokers with records, groups, members, access control, users and a registry."""
    authorizer = kafka_properties.authorizer(kafka_releases.selected())
    config = {**kafka_properties.FAST_FAILOVER, **authorizer}
    with KafkaCluster(config=config) as kafka, MockRegistry() as registry:
        with ottla.Admin(kafka.bootstrap) as admin:
            _fill(admin)
        registry.register("orders-value", '{"type": "record", "name": "Order", "fields": []}')
        kafka.wait_for_isr("orders", 0, 3)
        with (
            _traffic(kafka.bootstrap),
            ottla.Client(kafka.bootstrap) as client,
            serve(client, allow_changes=True, schema_registry=registry.url) as console,
        ):
            yield Scene(kafka, console)


def _fill(admin: ottla.Admin) -> None:
    admin.create_topics(
        [
            NewTopic("orders", 6, 3, configs={"retention.ms": "86400000"}),
            NewTopic("payments", 3, 3, configs={"cleanup.policy": "compact"}),
            NewTopic("metrics", PARTITIONS, 3),
        ],
        timeout=120,
    )
    admin.alter_configs({ConfigResource("broker", "1"): {"log.cleaner.threads": "2"}})
    admin.create_acls(
        [
            Acl("topic", "orders", "User:alice", "read"),
            Acl("group", "billing", "User:alice", "read"),
            Acl("topic", "pay", "User:bob", "write", "deny", "10.0.0.1", "prefixed"),
            Acl("cluster", "kafka-cluster", "User:operations", "describe_configs"),
        ]
    )
    passwords = [SetPassword("secret"), SetPassword("secret", "SCRAM-SHA-256", 8192)]
    admin.alter_user_scram_credentials({"alice": passwords, "bob": passwords[:1]})
    admin.alter_client_quotas({QuotaEntity(user="bob"): {"producer_byte_rate": 1_000_000}})
    admin.alter_group_offsets("reporting", {("payments", n): 0 for n in range(3)})


@contextmanager
def _traffic(bootstrap: str) -> Iterator[None]:
    """Write to ``orders``, and read most of it in the group ``billing``."""
    ended = threading.Event()

    def write() -> None:
        with ottla.Producer(bootstrap) as producer:
            n = 0
            while not ended.wait(0.02):
                value = f'{{"id": {n}, "customer": "c-{n % 7}"}}'.encode()
                producer.send("orders", value, key=f"order-{n}".encode())
                producer.send("payments", value, key=f"payment-{n % 40}".encode())
                n += 1

    def read() -> None:
        with ottla.Consumer(bootstrap, group_id="billing", client_id="billing-1") as consumer:
            consumer.subscribe(["orders"])
            while not ended.is_set():
                consumer.poll(timeout=0.5)

    threads = [threading.Thread(target=each) for each in (write, read)]
    for each in threads:
        each.start()
    try:
        yield
    finally:
        ended.set()
        for each in threads:
            each.join()


def _check(page: Page, name: str) -> None:
    """Check that a page is accessible and clips nothing; save what it looks like."""
    if directory := os.environ.get("OTTLA_SCREENSHOTS"):
        width = page.evaluate("innerWidth")
        page.screenshot(path=Path(directory) / f"{name}-{width}.png", full_page=True)
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    assert clipped(page) == [], name


def _map(page: Page) -> None:
    expect(page.locator(".tile:not(.ghost)")).to_have_count(3)
    expect(page.locator(".tile .disk").first).to_contain_text("% full")
    expect(page.locator(".row .cell").first).to_be_visible()


def _topic(page: Page) -> None:
    changed = page.get_by_role("region", name="Differences from the defaults")
    # Kafka sets min.insync.replicas for all brokers, to its default.
    expect(changed.locator("tbody tr")).to_have_count(1)
    expect(changed.get_by_role("row", name="retention.ms")).to_contain_text("86400000604800000")
    readers = page.get_by_role("region", name="Consumer groups of the topic")
    expect(readers).to_contain_text("billing")
    expect(page.locator("[data-chart='Written'] dd")).to_have_text(re.compile(r"^[1-9\d.]+$"))
    expect(page.get_by_role("link", name="orders-value")).to_be_visible()


def _broker(page: Page) -> None:
    changed = page.get_by_role("region", name="Differences from the defaults")
    expect(changed.get_by_role("row", name="log.cleaner.threads")).to_contain_text("21dynamic")
    expect(page.get_by_role("region", name="Log directories")).to_contain_text("usable")


def _connections(page: Page) -> None:
    expect(page.locator(".connection[data-state='connected']").first).to_be_visible()


def _rates(page: Page) -> None:
    expect(page.get_by_role("region", name="Busiest topics")).to_contain_text("orders")
    expect(page.locator("[data-chart='Requests'] canvas")).to_be_visible()


def _groups(page: Page) -> None:
    table = page.locator("main tbody")
    expect(table.get_by_role("row", name="reporting")).to_contain_text("Empty")
    expect(table.get_by_role("row", name="billing")).to_contain_text("Stable")


def _group(page: Page) -> None:
    expect(page.locator("#total-lag")).to_have_text(re.compile(r"^[\d,]+$"))
    expect(page.locator("main")).to_contain_text("billing-1")


def _messages(page: Page) -> None:
    expect(page.locator(".messages li").first).to_be_visible()


def _access(page: Page) -> None:
    entries = page.get_by_role("region", name="Access control entries")
    expect(entries.locator("tbody tr")).to_have_count(4)
    expect(entries.get_by_role("row", name="User:bob")).to_contain_text("pay…")
    users = page.get_by_role("region", name="Users", exact=True)
    expect(users.locator("tbody tr")).to_have_count(3)
    quotas = page.get_by_role("region", name="Quotas", exact=True)
    expect(quotas.get_by_role("row", name="bob")).to_contain_text("producer_byte_rate")


def _registry(page: Page) -> None:
    expect(page.locator(".row")).to_contain_text("orders-value")


def _subject(page: Page) -> None:
    expect(page.locator("main pre").first).to_contain_text("Order")


def _doctor(page: Page) -> None:
    page.get_by_role("button", name="Run the diagnosis").click()
    expect(page.locator(".verdict")).to_contain_text("No errors", timeout=_SLOW_MS)


PAGES = {
    "map": ("map", _map),
    "topic": ("map?topic=orders", _topic),
    "broker": ("map?broker=1", _broker),
    "connections": ("connections", _connections),
    "rates": ("rates", _rates),
    "groups": ("groups", _groups),
    "group": ("groups?group=billing", _group),
    "messages": ("messages?topic=orders", _messages),
    "access": ("access", _access),
    "registry": ("registry", _registry),
    "subject": ("registry?subject=orders-value", _subject),
    "doctor": ("doctor", _doctor),
}


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_every_page(browser: Browser, scene: Scene, width: int) -> None:
    with open_page(browser, scene.console.url, width=width) as page:
        expect(page.locator("#status")).to_have_text("live")
        for name, (place, expected) in PAGES.items():
            go(page, place)
            expected(page)
            _check(page, name)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_broker_is_killed(browser: Browser, scene: Scene, width: int) -> None:
    kafka = scene.kafka
    kafka.heal()
    with ottla.Admin(kafka.bootstrap) as admin:
        admin.elect_leaders(timeout=120)
    try:
        with open_page(browser, scene.console.url, width=width) as page:
            expect(page.locator("#status")).to_have_text("live", timeout=_SLOW_MS)
            kafka.kill(3)
            status = page.locator("#status")
            expect(status).to_contain_text("degraded: broker 3 gone", timeout=_SLOW_MS)
            expect(status).to_contain_text("partitions under-replicated")
            # The newest event is the first one.
            moved = page.get_by_text(re.compile(r"3\d\d leaders moved from broker 3")).first
            expect(moved).to_be_visible(timeout=_SLOW_MS)
            # Each attempt to reach it fails alike.
            refused = page.locator(".events li[data-kind='connection_lost']")
            refused = refused.filter(has_text="connection refused")
            assert refused.count() <= 2, refused.all_inner_texts()
            expect(page.locator(".tile.ghost[data-broker='3']")).to_be_visible()
            _check(page, "killed-map")
            moved.click()
            expect(
                page.get_by_text(re.compile(r"the leader of metrics-\d+ changed from 3")).first
            ).to_be_visible()
            _check(page, "killed-moves")
            go(page, "connections")
            lost = page.locator(".connection[data-broker='3']").first
            expect(lost.locator(".error")).to_be_visible()
            _check(page, "killed-connections")
            go(page, "map?broker=3")
            expect(page.locator("main .found").first).to_contain_text("Down or gone")
            _check(page, "killed-broker")
            go(page, "map?topic=orders")
            expect(page.locator(".replica.out, .replica.offline").first).to_be_visible()
            _check(page, "killed-topic")
            go(page, "doctor")
            page.get_by_role("button", name="Run the diagnosis").click()
            verdict = page.locator(".verdict")
            warned = re.compile("No errors, warnings at TCP, Leaders, Controllers, in")
            expect(verdict).to_have_text(warned, timeout=_SLOW_MS)
            expect(page.locator("[data-box='Leaders']")).to_contain_text("broker 3 is down")
            _check(page, "killed-doctor")
            kafka.heal()
            expect(status).to_have_text("live", timeout=_SLOW_MS)
    finally:
        kafka.heal()
