"""Changes through the console's forms, on a real broker, whose own tools show them."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

import ottla
from ottla.console import serve
from tests.support.browser import go, open_page
from tests.support.console_forms import carry_out, plan_of
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.deep]

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "org.apache.kafka.tools.ConfigCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
ACLS = "org.apache.kafka.tools.AclCommand"


@pytest.fixture
def page(browser: Browser, authorizing_kafka: KafkaCluster) -> Iterator[Page]:
    with (
        ottla.Client(authorizing_kafka.bootstrap) as client,
        serve(client, allow_changes=True) as console,
        open_page(browser, console.url) as page,
    ):
        expect(page.locator("#status")).to_have_text("live")
        yield page


@pytest.fixture
def topic(authorizing_kafka: KafkaCluster) -> str:
    """A topic of two partitions with a configuration of its own."""
    name = f"changes-{uuid.uuid4().hex[:8]}"
    config = {"retention.ms": "9000000", "min.insync.replicas": "1"}
    authorizing_kafka.create_topic(name, 2, 1, config)
    return name


def tool(kafka: KafkaCluster, main: str, *arguments: str) -> str:
    """Return what a tool of Kafka's prints about the cluster."""
    return kafka.run_tool(main, "--bootstrap-server", kafka.bootstrap, *arguments)


def test_a_topic_is_created(page: Page, authorizing_kafka: KafkaCluster) -> None:
    name = f"created-{uuid.uuid4().hex[:8]}"
    page.get_by_text("Create a topic").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Partitions").fill("3")
    page.get_by_label("Configuration, a key a line").fill("cleanup.policy=compact")
    assert carry_out(page, "New topic", "Create the topic") == f"Created {name}."
    described = tool(authorizing_kafka, TOPICS, "--describe", "--topic", name)
    assert "PartitionCount: 3" in described
    assert "cleanup.policy=compact" in described
    page.get_by_role("link", name=name).first.click()
    expect(page.locator(".row.partition")).to_have_count(3)


def test_partitions_are_added(page: Page, authorizing_kafka: KafkaCluster, topic: str) -> None:
    go(page, f"map?topic={topic}")
    page.get_by_text("Change this topic").click()
    page.get_by_label("Total").fill("5")
    assert carry_out(page, "Partitions", "Add the partitions") == "The topic has 5 partitions."
    assert "PartitionCount: 5" in tool(authorizing_kafka, TOPICS, "--describe", "--topic", topic)
    expect(page.locator(".row.partition")).to_have_count(5)


def test_keys_are_set_and_unset(page: Page, authorizing_kafka: KafkaCluster, topic: str) -> None:
    entity = ("--describe", "--entity-type", "topics", "--entity-name", topic)
    go(page, f"map?topic={topic}")
    shown = page.get_by_role("region", name="Differences from the defaults")
    # Kafka sets the default of min.insync.replicas for all brokers; here it is set for the topic.
    retention = shown.get_by_role("row", name="retention.ms")
    expect(retention).to_contain_text("9000000604800000dynamic topic")
    page.get_by_text("Change this topic").click()
    page.get_by_label("Set, a key a line").fill("compression.type=zstd")
    page.get_by_label("Unset").fill("retention.ms, min.insync.replicas")
    section, plan = plan_of(page, "Configuration")
    for row in (
        ["retention.ms", "9000000", "604800000"],
        ["min.insync.replicas, inherited again", "1", "1"],
        ["compression.type", "producer", "zstd"],
    ):
        expect(plan.get_by_role("row", name=row[0])).to_contain_text("".join(row))
    section.get_by_role("button", name="Change the configuration").click()
    expect(section.locator(".outcome")).to_contain_text("compression.type")
    configs = tool(authorizing_kafka, CONFIGS, *entity)
    assert "compression.type=zstd" in configs
    assert "retention.ms" not in configs
    assert "min.insync.replicas" not in configs
    # The page shows the defaults again, and no old value.
    expect(shown.locator("tbody tr")).to_have_count(1)
    page.locator(".configs summary").click()
    defaults = page.get_by_role("region", name="Defaults", exact=True)
    for key, value in (("retention.ms", "604800000"), ("min.insync.replicas", "1")):
        default = defaults.get_by_role("row", name=re.compile(f"^{re.escape(key)}"))
        expect(default).to_have_text(f"{key}{value}")
    # The keys are not set any more.
    page.get_by_label("Set, a key a line").fill("")
    plan_of(page, "Configuration")
    expect(section).to_contain_text("There is nothing to change.")


def test_a_message_is_written(page: Page, authorizing_kafka: KafkaCluster, topic: str) -> None:
    go(page, f"map?topic={topic}")
    page.get_by_text("Produce a message").click()
    page.get_by_label("Key", exact=True).fill("k")
    page.get_by_label("Value", exact=True).fill("written by hand")
    page.get_by_label("Headers, one a line").fill("source=console")
    page.get_by_label("Partition", exact=True).fill("1")
    outcome = carry_out(page, "One message", "Write the message")
    assert outcome.startswith("Written to partition 1 at offset 0.")
    offsets = tool(authorizing_kafka, OFFSETS, "--topic", topic)
    assert {f"{topic}:0:0", f"{topic}:1:1"} <= set(offsets.splitlines())
    page.locator("#produce").get_by_role("link", name="Read messages").click()
    expect(page.locator(".messages li")).to_contain_text("written by hand")


def test_offsets_are_reset_and_deleted_and_the_group_too(
    page: Page, authorizing_kafka: KafkaCluster, topic: str
) -> None:
    group = f"changes-{uuid.uuid4().hex[:8]}"
    with ottla.Producer(authorizing_kafka.bootstrap) as producer:
        for n in range(20):
            producer.send(topic, b"value", partition=n % 2)
    with ottla.Admin(authorizing_kafka.bootstrap) as admin:
        admin.alter_group_offsets(group, {(topic, 0): 3, (topic, 1): 4})

    def committed() -> set[tuple[str, ...]]:
        shown = tool(authorizing_kafka, GROUPS, "--describe", "--group", group, "--offsets")
        rows = [line.split() for line in shown.splitlines() if f" {topic} " in line]
        return {tuple(row[2:4]) for row in rows}

    go(page, f"groups?group={group}")
    expect(page.locator("#total-lag")).to_have_text("13")
    page.get_by_label("Reset to").fill("+2")
    section = page.get_by_role("region", name="Reset offsets")
    section.get_by_role("button", name="Show the plan").click()
    section.get_by_role("button", name="Apply the plan").click()
    expect(section).to_contain_text("Reset: 2 partitions.")
    assert committed() == {("0", "5"), ("1", "6")}
    expect(page.locator("#total-lag")).to_have_text("9")
    page.get_by_text("Delete offsets or the group").click()
    page.get_by_label("Topics or partitions").fill(f"{topic}:0")
    assert carry_out(page, "Delete offsets", "Delete the offsets") == "Deleted 1 offset."
    assert committed() == {("1", "6")}
    outcome = carry_out(page, "Delete the group", "Delete the group", typed=group)
    assert outcome.startswith(f"Deleted {group}.")
    assert group not in tool(authorizing_kafka, GROUPS, "--list")


def test_entries_of_access_control_are_created_and_deleted(
    page: Page, authorizing_kafka: KafkaCluster, topic: str
) -> None:
    go(page, "access")
    page.get_by_text("Create an entry").click()
    page.get_by_label("Principal").fill("alice")
    page.get_by_label("Operations").fill("read, describe")
    page.get_by_label("Name", exact=True).fill(topic)
    section, _ = plan_of(page, "New entries")
    # Brokers would refuse it only when it is created.
    expect(section.locator(".notice.bad")).to_contain_text("such as User:alice")
    page.get_by_label("Principal").fill("User:alice")
    assert carry_out(page, "New entries", "Create the entries") == "Created 2 entries."

    def entries() -> str:
        return tool(authorizing_kafka, ACLS, "--list", "--topic", topic)

    alice = "(principal=User:alice, host=*, operation={}, permissionType=ALLOW)"
    assert alice.format("READ") in entries()
    assert alice.format("DESCRIBE") in entries()
    page.get_by_role("button", name=f"Delete allow User:alice to read topic {topic}").click()
    page.get_by_role("button", name="Delete the entry").click()
    expect(page.get_by_text("Deleted the entry.")).to_be_visible()
    assert alice.format("READ") not in entries()
    assert alice.format("DESCRIBE") in entries()
    listed = page.get_by_role("region", name="Access control entries")
    expect(listed.get_by_role("row", name="User:alice")).to_have_count(1)


def test_passwords_are_set_and_deleted(page: Page, authorizing_kafka: KafkaCluster) -> None:
    entity = ("--describe", "--entity-type", "users", "--entity-name", "carol")
    go(page, "access")
    page.get_by_text("Set a password").click()
    page.get_by_label("User", exact=True).fill("carol")
    page.get_by_label("Password", exact=True).fill("a secret")
    page.get_by_label("Iterations").fill("8192")
    assert carry_out(page, "New password", "Set the password") == "Set the password of carol."
    assert "SCRAM-SHA-512=iterations=8192" in tool(authorizing_kafka, CONFIGS, *entity)
    row = page.get_by_role("region", name="Users", exact=True).get_by_role("row", name="carol")
    expect(row).to_contain_text("8,192")
    page.get_by_role("button", name="Delete the SCRAM-SHA-512 password of carol").click()
    page.get_by_label("Type carol to confirm").fill("carol")
    page.get_by_role("button", name="Delete the password", exact=True).click()
    expect(row).to_have_count(0)
    assert "SCRAM" not in tool(authorizing_kafka, CONFIGS, *entity)


def test_a_topic_is_deleted(page: Page, authorizing_kafka: KafkaCluster, topic: str) -> None:
    go(page, f"map?topic={topic}")
    page.get_by_text("Change this topic").click()
    outcome = carry_out(page, "Delete the topic", "Delete the topic", typed=topic)
    assert outcome.startswith(f"Deleted {topic}.")
    assert topic not in tool(authorizing_kafka, TOPICS, "--list").split()
    page.locator("#delete").get_by_role("link", name="All topics").click()
    page.get_by_label("Find").fill(topic)
    expect(page.locator(".row .topic")).to_have_count(0)
