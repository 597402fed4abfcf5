"""The forms of changes in a real browser: the plan first, then the outcome, in place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import ottla
from ottla.admin import Acl, QuotaEntity, SetPassword
from ottla.console import serve
from ottla.console.changing import records
from ottla.testing import Fault, MockCluster
from tests.support.browser import NARROW, WIDE, assert_accessible, clipped, go, open_page
from tests.support.console_forms import plan_of


@pytest.fixture
def changing(browser: Browser, client: ottla.Client, orders: str) -> Iterator[Page]:
    """The page of a console that allows changes."""
    with serve(client, allow_changes=True) as console, open_page(browser, console.url) as page:
        expect(page.locator("#status")).to_have_text("live")
        yield page


def test_a_console_that_is_read_only_has_no_forms_of_changes(page: Page) -> None:
    places = {"map": "orders", "map?topic=orders": "orders", "access": "0 of 0 entries"}
    for place, content in places.items():
        go(page, place)
        expect(page.locator("main")).to_contain_text(content)
        expect(page.locator(".change, .changes")).to_have_count(0)
    # It may plan a reset, and nothing else.
    go(page, "groups?group=billing")
    expect(page.locator(".change")).to_have_count(1)
    expect(page.locator(".change#reset")).to_have_count(1)


def test_a_topic_is_created_from_the_map(changing: Page, client: ottla.Client) -> None:
    changing.get_by_text("Create a topic").click()
    changing.get_by_label("Name", exact=True).fill("new")
    changing.get_by_label("Partitions").fill("2")
    section, plan = plan_of(changing, "New topic")
    expect(plan).to_contain_text("create topic new")
    assert "new" not in client.topic_names()
    # What is confirmed is the plan in view.
    create = section.get_by_role("button", name="Create the topic")
    expect(create).to_be_visible()
    changing.get_by_label("Partitions").fill("4")
    expect(create).to_be_hidden()
    expect(plan).to_have_count(0)
    plan_of(changing, "New topic")
    create.click()
    section.get_by_role("link", name="new").click()
    expect(changing.locator(".row.partition")).to_have_count(4)


def test_a_refusal_is_shown_in_place_with_its_remedy(changing: Page) -> None:
    changing.get_by_text("Create a topic").click()
    changing.get_by_label("Name", exact=True).fill("orders")
    section, _ = plan_of(changing, "New topic")
    expect(section.locator(".notice.bad")).to_contain_text("TOPIC_ALREADY_EXISTS")
    expect(section.locator(".notice.bad")).to_contain_text("What to do: choose another name")


def test_a_message_shows_where_it_was_written(changing: Page, mock_cluster: MockCluster) -> None:
    go(changing, "map?topic=orders")
    changing.get_by_text("Produce a message").click()
    changing.get_by_label("Key", exact=True).fill("k")
    changing.get_by_label("Value", exact=True).fill('{"n": 1')
    changing.get_by_label("Value as").select_option("json")
    changing.get_by_label("Partition", exact=True).fill("5")
    section, plan = plan_of(changing, "One message")
    expect(section.locator(".notice.bad")).to_contain_text("value: expected JSON")
    changing.get_by_label("Value", exact=True).fill('{"n": 1}')
    plan_of(changing, "One message")
    expect(plan).to_contain_text("partition 5, key: 1 byte, value: 8 bytes, 0 headers")
    section.get_by_role("button", name="Write the message").click()
    expect(section.locator(".outcome")).to_contain_text("Written to partition 5 at offset 10.")
    # The same message again is another one.
    plan_of(changing, "One message")
    section.get_by_role("button", name="Write the message").click()
    expect(section.locator(".outcome")).to_contain_text("at offset 11.")


def test_an_unknown_outcome_is_said(
    changing: Page, mock_cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "_DELIVERY_TIMEOUT", 0.5)
    go(changing, "map?topic=orders")
    changing.get_by_text("Produce a message").click()
    section, _ = plan_of(changing, "One message")
    expect(section.get_by_role("button", name="Write the message")).to_be_visible()
    mock_cluster.inject(Fault.disconnect("after"), api="Produce")
    section.get_by_role("button", name="Write the message").click()
    expect(section.locator(".outcome")).to_contain_text("The outcome is unknown")


def test_a_topic_is_deleted_once_its_name_is_typed(changing: Page, client: ottla.Client) -> None:
    go(changing, "map?topic=orders")
    changing.get_by_text("Change this topic").click()
    section, plan = plan_of(changing, "Delete the topic")
    expect(plan).to_contain_text("delete topic orders")
    delete = section.get_by_role("button", name="Delete the topic")
    expect(delete).to_be_disabled()
    section.get_by_label("Type orders to confirm").fill("order")
    expect(delete).to_be_disabled()
    section.get_by_label("Type orders to confirm").fill("orders")
    delete.click()
    expect(section.locator(".outcome")).to_contain_text("Deleted orders.")
    assert "orders" not in client.topic_names()


def test_offsets_and_a_group_are_deleted(changing: Page, mock_cluster: MockCluster) -> None:
    go(changing, "groups?group=billing")
    changing.get_by_text("Delete offsets or the group").click()
    changing.get_by_label("Topics or partitions").fill("orders:0")
    section, plan = plan_of(changing, "Delete offsets")
    expect(plan).to_contain_text("orders-0")
    section.get_by_role("button", name="Delete the offsets").click()
    expect(section.locator(".outcome")).to_have_text("Deleted 1 offset.")
    section, plan = plan_of(changing, "Delete the group")
    expect(plan).to_contain_text("with 5 committed offsets")
    section.get_by_label("Type billing to confirm").fill("billing")
    section.get_by_role("button", name="Delete the group").click()
    expect(section.locator(".outcome")).to_contain_text("Deleted billing.")
    assert not mock_cluster.committed("billing")


def test_offsets_are_reset_by_the_plan_in_view(changing: Page, mock_cluster: MockCluster) -> None:
    go(changing, "groups?group=billing")
    changing.get_by_text("Reset offsets").click()
    changing.get_by_label("Reset to").fill("latest")
    section, plan = plan_of(changing, "New offsets")
    expect(plan.locator("tbody tr")).to_have_count(6)
    apply = section.get_by_role("button", name="Reset the offsets")
    expect(apply).to_be_visible()
    changing.get_by_label("Topics", exact=True).fill("orders:0")
    expect(apply).to_be_hidden()
    changing.get_by_label("Topics", exact=True).fill("")
    plan_of(changing, "New offsets")
    expect(apply).to_be_visible()
    # Somebody has committed since the plan was shown: the refusal says what to do.
    mock_cluster.commit("billing", "orders", 0, 4)
    apply.click()
    expect(section.locator(".notice.bad")).to_contain_text("look at the new plan first")
    assert mock_cluster.committed("billing")["orders", 1] == 3
    plan_of(changing, "New offsets")
    apply.click()
    expect(section.locator(".outcome")).to_have_text("Reset the offsets of 6 partitions.")
    assert set(mock_cluster.committed("billing").values()) == {10}
    expect(changing.locator("#total-lag")).to_have_text("0")


def test_quotas_are_shown_set_and_removed(changing: Page, client: ottla.Client) -> None:
    go(changing, "access")
    changing.get_by_text("Set a quota").click()
    changing.get_by_label("For client id").fill("default")
    changing.get_by_label("For user").fill("alice")
    changing.get_by_label("Limit").fill("1572864")
    section, plan = plan_of(changing, "New quota")
    expect(plan).to_contain_text("alter quota of user alice, client-id (default)")
    section.get_by_role("button", name="Set the quota").click()
    expect(section.locator(".outcome")).to_have_text("Set the quota.")
    quotas = changing.get_by_role("region", name="Quotas", exact=True).locator("tbody tr")
    expect(quotas).to_contain_text("1,572,864 B/s (1.50 MiB/s)")
    name = "Remove producer_byte_rate of user alice, client-id (default)"
    changing.get_by_role("button", name=name).click()
    changing.get_by_role("button", name="Remove the quota", exact=True).click()
    expect(quotas).to_have_count(0)
    with ottla.Admin(client) as admin:
        assert admin.describe_client_quotas() == {}


def test_access_is_shown_and_changed(changing: Page) -> None:
    go(changing, "access")
    changing.get_by_text("Create an entry").click()
    changing.get_by_label("Principal").fill("User:alice")
    changing.get_by_label("Operations").fill("read, describe")
    changing.get_by_label("Name", exact=True).fill("orders")
    section, plan = plan_of(changing, "New entries")
    expect(plan).to_contain_text("allow User:alice to describe topic orders from *")
    section.get_by_role("button", name="Create the entries").click()
    expect(section.locator(".outcome")).to_have_text("Created 2 entries.")
    listed = changing.get_by_role("region", name="Access control entries").locator("tbody tr")
    expect(listed).to_have_count(2)
    changing.get_by_role("button", name="Delete allow User:alice to read topic orders").click()
    changing.get_by_role("button", name="Delete the entry").click()
    expect(changing.get_by_text("Deleted the entry.")).to_be_visible()
    expect(listed).to_have_count(1)


def test_a_password_is_set_and_leaves_the_page(changing: Page) -> None:
    go(changing, "access")
    changing.get_by_text("Set a password").click()
    changing.get_by_label("User", exact=True).fill("alice")
    changing.get_by_label("Password", exact=True).fill("hunter2")
    section, plan = plan_of(changing, "New password")
    expect(plan).to_contain_text("create password of alice")
    section.get_by_role("button", name="Set the password").click()
    expect(section.locator(".outcome")).to_have_text("Set the password of alice.")
    expect(changing.get_by_label("Password", exact=True)).to_have_value("")
    users = changing.get_by_role("region", name="Users", exact=True).locator("tbody tr")
    expect(users).to_contain_text("alice")
    assert "hunter2" not in changing.content() + changing.url
    changing.get_by_role("button", name="Delete the SCRAM-SHA-512 password of alice").click()
    changing.get_by_label("Type alice to confirm").fill("alice")
    changing.get_by_role("button", name="Delete the password", exact=True).click()
    expect(users).to_have_count(0)


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_forms_are_accessible_and_not_clipped(
    browser: Browser, client: ottla.Client, orders: str, width: int, scheme: str
) -> None:
    with ottla.Admin(client) as admin:
        admin.create_acls([Acl("topic", "orders", "User:alice", "read", "deny")])
        admin.alter_user_scram_credentials({"alice": [SetPassword("secret")]})
        quotas = {"producer_byte_rate": 1e6, "request_percentage": 50.0}
        admin.alter_client_quotas({QuotaEntity(user="alice", client_id=""): quotas})
    with (
        serve(client, allow_changes=True) as console,
        open_page(browser, console.url, width=width, scheme=scheme) as page,
    ):
        places = [
            ("map", ["Create a topic"], []),
            (
                "map?topic=orders",
                ["Produce a message", "Change this topic"],
                ["One message", "Delete the topic"],
            ),
            (
                "groups?group=billing",
                ["Reset offsets", "Delete offsets or the group"],
                ["Delete the group"],
            ),
            ("access", ["Create an entry", "Set a password", "Set a quota"], []),
        ]
        for number, (place, opened, planned) in enumerate(places):
            go(page, place)
            if place == "access":
                expect(page.get_by_role("button", name="Delete the")).to_be_visible()
                expect(page.get_by_role("button", name="Remove ")).to_have_count(2)
            for title in opened:
                page.get_by_text(title, exact=True).click()
            for title in planned:
                expect(plan_of(page, title)[1]).to_be_visible()
            assert_accessible(page)
            assert clipped(page) == [], place
            if directory := os.environ.get("OTTLA_SCREENSHOTS"):
                page.screenshot(path=Path(directory) / f"{number}-{width}.png", full_page=True)
