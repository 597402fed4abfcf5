"""The list of groups: its rows, orders and limits, and what could not be asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

import ottla
from ottla.console import Console, serve
from ottla.testing import Fault, MockCluster
from tests.support.browser import NARROW, WIDE, assert_accessible, clipped, go, open_page
from tests.support.console import request

MANY = 2_000


@pytest.fixture
def many(mock_cluster: MockCluster) -> Iterator[Console]:
    """A console of a cluster with 2,000 groups, whose lags are their numbers modulo 100."""
    mock_cluster.create_topic("orders", partitions=1)
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for _ in range(100):
            producer.send("orders", b"value")
    for n in range(MANY):
        mock_cluster.commit(f"group-{n:04}", "orders", 0, 100 - n % 100)
    with ottla.Client(mock_cluster.bootstrap) as client, serve(client) as console:
        yield console


def groups(console: Console, query: str = "") -> Any:
    response = request(console, f"/api/groups?{query}")
    assert response.status == 200, response.body
    return response.json


def ids(found: Any) -> list[str]:
    return [row["group_id"] for row in found["rows"]]


def test_a_response_has_few_of_many_groups(many: Console) -> None:
    found = groups(many)
    assert (found["all"], found["total"], len(found["rows"])) == (MANY, MANY, 300)
    assert found["rows"][0] | {"lag": 99, "group_id": "group-0099"} == found["rows"][0]
    assert ids(groups(many, "order=name&start=1990&count=999")) == [
        f"group-{n:04}" for n in range(1990, 2000)
    ]
    found = groups(many, "q=GROUP-19&count=2")
    assert (found["all"], found["total"], ids(found)) == (MANY, 100, ["group-1999", "group-1998"])
    for order in ["behind", "members", "errors"]:
        assert len(groups(many, f"order={order}")["rows"]) == 300
    assert request(many, "/api/groups?order=size").status == 400
    # A topic's page has as many.
    details = request(many, "/api/topic/details?name=orders").json["groups"]
    if details is None:  # they were not there within a second
        groups(many)
        details = request(many, "/api/topic/details?name=orders").json["groups"]
    assert (details["total"], len(details["rows"])) == (MANY, 300)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_page_lists_few_of_many_groups(browser: Browser, many: Console, width: int) -> None:
    with open_page(browser, many.url, width=width) as page:
        go(page, "groups")
        found = page.locator("main .found").first
        expect(found).to_have_text("300 of 2,000 groups; filter to see others")
        expect(page.locator("tbody tr")).to_have_count(300)
        expect(page.locator("td[data-lag]").first).to_have_attribute("data-lag", "99")
        page.get_by_label("Order").select_option("name")
        expect(page.locator("tbody th").first).to_have_text("group-0000")
        page.get_by_label("Find").fill("group-1234")
        expect(found).to_have_text("1 of 2,000 groups")
        expect(page.locator("tbody th")).to_have_text(["group-1234"])
        page.get_by_label("Find").fill("nothing")
        expect(page.locator("main")).to_contain_text("No group has this in its id.")
        assert_accessible(page)
        assert clipped(page) == []


@pytest.fixture
def refused(mock_cluster: MockCluster, orders: str) -> None:
    """One broker lists no groups, and says nothing of the offsets of those that it coordinates."""
    for n in range(12):
        mock_cluster.commit(f"group-{n}", orders, 0, 5)
    error = Fault.error("GROUP_AUTHORIZATION_FAILED")
    mock_cluster.inject(error, api="ListGroups", broker=1)
    mock_cluster.inject(error, api="OffsetFetch", broker=2)
    mock_cluster.inject(error, api="DescribeGroups", broker=2)
    mock_cluster.inject(error, api="ConsumerGroupDescribe", broker=2)


@pytest.mark.usefixtures("refused")
def test_groups_that_could_not_be_asked_hide_no_others(console: Console) -> None:
    found = groups(console, "order=errors")
    assert "GROUP_AUTHORIZATION_FAILED" in found["errors"][0]
    assert 0 < found["failed"] < len(found["rows"]) < 13
    failed, known = found["rows"][: found["failed"]], found["rows"][found["failed"] :]
    for row in failed:
        assert (row["lag"], row["partitions"], row["coordinator"]) == (None, None, 2)
        assert "GROUP_AUTHORIZATION_FAILED" in row["error"]
    for row in known:
        assert (row["lag"] is not None, row["error"], row["coordinator"]) == (True, None, 3)
    # A group whose lag is unknown shows what else is known.
    one = request(console, f"/api/group?name={known[0]['group_id']}").json
    assert (one["lag_error"], one["total"]) == (None, len(one["partitions"]))
    details = request(console, "/api/topic/details?name=orders").json["groups"]
    assert details["total"] == len(known)
    assert len(details["errors"]) == min(5, 1 + len(failed))


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_page_says_which_groups_could_not_be_asked(
    browser: Browser, console: Console, width: int
) -> None:
    with open_page(browser, console.url, width=width) as page:
        go(page, "groups")
        notices = page.locator(".notice")
        expect(notices).to_have_count(2)
        expect(notices.first).to_contain_text("could not be asked for offsets")
        expect(notices.first).to_contain_text("GROUP_AUTHORIZATION_FAILED")
        expect(notices.last).to_contain_text("Groups may be missing: ")
        expect(page.locator("td[data-lag]").first).to_be_visible()
        page.get_by_label("Order").select_option("errors")
        unknown = page.locator("tbody tr").first.locator(".bad")
        expect(unknown).to_have_text("unknown")
        expect(unknown).to_have_attribute("title", re.compile("GROUP_AUTHORIZATION_FAILED"))
        assert_accessible(page)
        assert clipped(page) == []


def test_a_group_whose_lag_is_unknown_shows_its_members(
    console: Console, mock_cluster: MockCluster, orders: str
) -> None:
    mock_cluster.inject(Fault.error("GROUP_AUTHORIZATION_FAILED"), api="OffsetFetch")
    found = request(console, "/api/group?name=billing").json
    assert "GROUP_AUTHORIZATION_FAILED" in found["lag_error"]
    assert (found["group_id"], found["members"], found["all_members"]) == ("billing", [], 0)


def test_a_broker_that_lists_nothing_for_a_while_ends_no_history(
    mock_cluster: MockCluster, orders: str
) -> None:
    from ottla.console.group_survey import GroupSurvey
    from ottla.console.workers import Workers

    with ottla.Admin(mock_cluster.bootstrap) as admin:
        survey = GroupSurvey(admin, Workers())
        survey._sample()
        fault = mock_cluster.inject(Fault.error("GROUP_AUTHORIZATION_FAILED"), api="ListGroups")
        assert survey._sample().rows == []
        assert mock_cluster.fault_hits(fault) > 0
        assert len(survey.history("billing")) == 1
        mock_cluster.clear_faults()
        survey._sample()
        assert len(survey.history("billing")) == 2
