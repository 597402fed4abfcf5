"""The console's pages in a real browser, on real brokers."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

import ottla
from ottla.console import serve
from tests.conftest import TopicFactory
from tests.support import kafka_releases
from tests.support.browser import go, open_page
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.cluster

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.fixture
def page(browser: Browser, kafka: KafkaCluster) -> Iterator[Page]:
    with (
        ottla.Client(kafka.bootstrap) as client,
        serve(client) as console,
        open_page(browser, console.url) as page,
    ):
        expect(page.locator("#status")).to_have_text("live")
        yield page


def test_every_page_shows_the_cluster(
    page: Page, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic, group = kafka_topic(partitions=3), f"console-{uuid.uuid4().hex[:8]}"
    with ottla.Producer(kafka.bootstrap) as producer:
        for n in range(30):
            producer.send(topic, b"value %d" % n, partition=n % 3)
    with ottla.Admin(kafka.bootstrap) as admin:
        admin.alter_group_offsets(group, {(topic, 0): 4, (topic, 1): 0, (topic, 2): 10})
        leaders = [each.leader for each in admin.describe_topics([topic])[topic].partitions]
    expect(page.locator(".tile:not(.ghost)")).to_have_count(3)
    # Since Kafka 3.3, brokers report the sizes of their volumes.
    used = "% full" if kafka_releases.number(kafka.release) >= (3, 3) else "of replicas"
    expect(page.locator(".tile .disk").first).to_contain_text(used)
    page.get_by_label("Find").fill(topic)
    cells = page.locator(".row .cell")
    expect(cells).to_have_text([str(leader) for leader in leaders])
    go(page, "connections")
    expect(page.locator(".connection[data-state='connected']").first).to_be_visible()
    go(page, "rates")
    expect(page.locator("[data-chart='Requests'] canvas")).to_be_visible()
    go(page, "groups")
    page.get_by_label("Find").fill(group)
    page.get_by_role("link", name=group).click()
    expect(page.locator("#total-lag")).to_have_text("16")
    # Kafka's own tool says the same of each partition.
    shown = kafka.run_tool(
        GROUPS, "--bootstrap-server", kafka.bootstrap, "--describe", "--group", group
    )
    lags = {}
    for line in shown.splitlines():
        words = line.split()
        if words[1:2] == [topic]:
            lags[f"{topic}-{words[2]}"] = words[5]
    assert len(lags) == 3
    for place, lag in lags.items():
        row = page.get_by_role("row", name=place)
        expect(row.locator("td[data-lag]")).to_have_attribute("data-lag", lag)
    go(page, f"messages?topic={topic}")
    expect(page.locator(".messages li")).to_have_count(30)
    go(page, "doctor")
    page.get_by_label("Topic").fill(topic)
    page.get_by_role("button", name="Run the diagnosis").click()
    expect(page.locator(".verdict")).to_contain_text("No errors", timeout=60_000)
    has_quorum = kafka.release not in kafka_releases.ZOOKEEPER_RELEASES
    state = "passed" if has_quorum else "not_used"
    expect(page.locator("[data-box='Controllers']")).to_have_attribute("data-box-state", state)


@pytest.mark.fault
def test_the_leaders_of_a_killed_broker_change_within_seconds(
    page: Page, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(partitions=3)
    page.get_by_label("Find").fill(topic)
    cells = page.locator(".row .cell")
    expect(cells).to_have_count(3)
    victim = int(cells.nth(0).inner_text())
    kafka.kill(victim)

    def moved() -> bool:
        with ottla.Client(kafka.bootstrap) as client:
            return client.cluster([topic]).topics[topic].partitions[0].leader not in {victim, None}

    wait_until(moved, lambda: f"{topic}-0 is still led by broker {victim}")
    elected = time.monotonic()
    expect(cells.nth(0)).not_to_have_text(str(victim), timeout=5_000)
    assert time.monotonic() - elected < 5
    expect(page.locator(f".tile.ghost[data-broker='{victim}']")).to_be_visible()


def test_topics_and_brokers_of_a_real_cluster(
    page: Page, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(partitions=3)
    with ottla.Admin(kafka.bootstrap) as admin:
        resource = ottla.admin.ConfigResource("topic", topic)
        admin.alter_configs({resource: {"compression.type": "zstd"}})
    with ottla.Producer(kafka.bootstrap) as producer:
        for n in range(30):
            producer.send(topic, b"value %d" % n, partition=n % 3)
    go(page, f"map?topic={topic}")
    expect(page.locator(".big-facts")).to_contain_text("offsets in the log30")
    changed = page.get_by_role("region", name="Differences from the defaults")
    expect(changed.get_by_role("row", name="compression.type")).to_contain_text("zstdproducer")
    expect(page.locator("[data-chart='Written'] dd")).to_have_text(re.compile(r"^[\d.]+$"))
    go(page, "map?broker=1")
    expect(page.get_by_role("region", name="Log directories")).to_contain_text("usable")
    expect(page.get_by_role("region", name="Differences from the defaults")).to_contain_text(
        "listeners"
    )
