"""The Registry page, over HTTP and in a browser: subjects, versions, schemas and differences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import ottla
from ottla.console import Console, serve
from ottla.testing import MockRegistry, RegistryFault
from tests.support.browser import NARROW, WIDE, assert_accessible, clipped, go, open_page
from tests.support.console import post, request

SUBJECT = "orders-value"


def schema(*fields: str) -> str:
    rows = [{"name": name, "type": "string", "default": ""} for name in fields]
    return json.dumps({"type": "record", "name": "Order", "fields": rows})


@pytest.fixture
def registry() -> Iterator[MockRegistry]:
    with MockRegistry() as registry:
        registry.register(SUBJECT, schema("id"))
        registry.register(SUBJECT, schema("id", "note"))
        registry.register("orders-v2-value", schema("id"))
        yield registry


@pytest.fixture
def with_registry(client: ottla.Client, registry: MockRegistry, orders: str) -> Iterator[Console]:
    config = {"url": registry.url, "latest.cache.ttl.ms": 0}
    with ottla.schema.Registry(config) as reader, serve(client, schema_registry=reader) as console:
        yield console


def found(console: Console, path: str) -> Any:
    response = request(console, f"/api/registry/{path}")
    assert response.status == 200, response.body
    return response.json


def test_subjects_are_found_by_pages(with_registry: Console, registry: MockRegistry) -> None:
    page = found(with_registry, "subjects?q=VALUE&count=1&start=1")
    assert page["rows"] == [SUBJECT]
    assert (page["all"], page["total"], page["urls"]) == (2, 2, [registry.url])
    # Another topic's subject begins with the same name.
    assert found(with_registry, "topic?name=orders") == [SUBJECT]
    assert found(with_registry, "topic?name=payments") == []


def test_versions_schemas_and_differences(with_registry: Console, registry: MockRegistry) -> None:
    subject = found(with_registry, f"subject?name={SUBJECT}")
    assert [row["version"] for row in subject["versions"]] == [2, 1]
    assert subject["limit"] is None
    assert subject["level"] == {"level": "BACKWARD", "is_global": True}
    shown = found(with_registry, f"schema?name={SUBJECT}&version=1")
    assert json.loads("".join(shown["lines"])) == json.loads(shown["schema"])
    lines = found(with_registry, f"diff?name={SUBJECT}&old=1&new=2")["lines"]
    assert lines[:2] == [f"--- {SUBJECT} version 1", f"+++ {SUBJECT} version 2"]
    assert any('"note"' in line for line in lines if line.startswith("+"))
    assert found(with_registry, f"diff?name={SUBJECT}&old=1&new=1")["lines"] == []
    assert {each.method for each in registry.requests()} == {"GET"}


def test_only_the_newest_of_many_versions_are_listed(
    with_registry: Console, registry: MockRegistry
) -> None:
    for n in range(60):
        registry.register("many", schema(*[f"field{i}" for i in range(n + 1)]))
    registry.delete_version("many", 59)
    subject = found(with_registry, "subject?name=many")
    versions = [row["version"] for row in subject["versions"]]
    assert versions == [60, *range(58, 10, -1)]
    assert subject["limit"] == 50


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("subject", 400),
        (f"schema?name={SUBJECT}", 400),
        (f"schema?name={SUBJECT}&version=0", 400),
        (f"schema?name={SUBJECT}&version=99999999999", 400),
        (f"schema?name={SUBJECT}&version=7", 404),
        ("subject?name=nothing", 404),
        (f"diff?name={SUBJECT}&old=1&new=x", 400),
    ],
)
def test_wrong_requests_are_errors(with_registry: Console, path: str, status: int) -> None:
    response = request(with_registry, f"/api/registry/{path}")
    assert (response.status, bool(response.json["message"])) == (status, True)


def test_without_a_registry_there_is_no_page(console: Console, page: Page) -> None:
    assert request(console, "/api/registry/subjects").status == 404
    expect(page.locator("#pages")).to_contain_text("Doctor")
    expect(page.locator("#pages")).not_to_contain_text("Registry")
    assert post(console, "/api/registry/subjects", {}).status == 404


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_page_shows_subjects(browser: Browser, with_registry: Console, width: int) -> None:
    with open_page(browser, with_registry.url, width=width) as page:
        go(page, "map?topic=orders")
        expect(page.get_by_text("Schemas: ")).to_be_visible()
        page.get_by_role("link", name="Registry").click()
        expect(page.locator(".controls .found")).to_have_text("2 subjects")
        assert_accessible(page)
        assert clipped(page) == []
        page.get_by_label("Find").fill("ORDERS-VAL")
        expect(page.locator(".controls .found")).to_have_text("1 of 2 subjects")
        page.get_by_role("link", name=SUBJECT).click()
        expect(page.get_by_role("region", name="Schema of version 2")).to_contain_text('"note"')
        page.get_by_role("button", name="Show version 1").click()
        first = page.get_by_role("region", name="Schema of version 1")
        expect(first).not_to_contain_text('"note"')
        page.get_by_role("button", name="Compare").click()
        difference = page.get_by_role("region", name="Difference between version 1 and version 2")
        expect(difference.locator(".good").first).to_contain_text("+")
        assert_accessible(page)
        assert clipped(page) == []


def test_a_registry_that_fails_is_said_in_place(
    browser: Browser, with_registry: Console, registry: MockRegistry
) -> None:
    registry.inject(RegistryFault.status(403, code=40301, message="not for <b>you</b>"))
    with open_page(browser, with_registry.url) as page:
        go(page, "registry")
        expect(page.locator(".notice.bad")).to_contain_text("The subjects are unknown: ")
        expect(page.locator(".notice.bad")).to_contain_text("not for <b>you</b>")
        assert_accessible(page)
        go(page, f"registry?subject={SUBJECT}")
        expect(page.locator(".notice.bad")).to_contain_text("not for <b>you</b>")
        # The rest of a topic's page is there.
        go(page, "map?topic=orders")
        expect(page.get_by_text("Schemas are unknown")).to_contain_text("not for <b>you</b>")
        expect(page.locator(".row.partition")).to_have_count(6)
