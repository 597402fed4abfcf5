"""Takes the documentation's screenshots of the console: wide and narrow, light and dark.

    python tools/console_screenshots.py [PAGE ...]

They show a simulation. The images are compared with nothing: look at them before you commit them.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

from playwright.sync_api import Page, expect

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ottla
from ottla.admin import Acl, QuotaEntity, SetPassword
from ottla.console import serve
from ottla.console.simulation import Simulation
from ottla.testing import MockRegistry
from tests.support.browser import NARROW, WIDE, go, open_page, running_browser
from tools.gateway_clients import gateway_with_clients

TARGET = Path("docs/guides/console")
HEIGHTS = {WIDE: 900, NARROW: 844}


def _simulation(page: Page) -> None:
    expect(page.locator("[data-outcome='finished']")).to_be_visible()


def _map(page: Page) -> None:
    expect(page.locator(".tile.ghost")).to_have_count(1, timeout=30_000)
    expect(page.locator(".tile .disk").first).to_be_visible()


def _rates(page: Page) -> None:
    page.wait_for_timeout(20_000)


def _groups(page: Page) -> None:
    page.get_by_role("link", name="billing").click()
    expect(page.locator("#total-lag")).to_be_visible()
    page.wait_for_timeout(7_000)


def _topic(page: Page) -> None:
    page.get_by_role("link", name="orders", exact=True).click()
    expect(page.locator(".configs summary")).to_be_visible()
    page.wait_for_timeout(12_000)


def _broker(page: Page) -> None:
    expect(page.locator(".configs")).to_be_visible()
    page.wait_for_timeout(12_000)


def _access(page: Page) -> None:
    expect(page.locator("#acls tbody tr")).to_have_count(len(ENTRIES))
    expect(page.locator("#users tbody tr").first).to_be_visible()


def _registry(page: Page) -> None:
    expect(page.locator("main pre").first).to_be_visible()


def _messages(page: Page) -> None:
    page.get_by_label("Topic").fill("orders")
    page.get_by_role("button", name="Read", exact=True).click()
    page.locator(".messages summary").nth(3).click()
    expect(page.locator(".messages pre").first).to_be_visible()


def _doctor(page: Page) -> None:
    page.get_by_role("button", name="Run the diagnosis").click()
    end = page.locator(".box.end")
    expect(end).to_be_visible(timeout=60_000)
    end.scroll_into_view_if_needed()


def _clients(page: Page) -> None:
    expect(page.get_by_text("billing-2").first).to_be_visible(timeout=30_000)
    page.wait_for_timeout(7_000)


# The pages that others lead to.
PLACES = {"topic": "map", "broker": "map?broker=1", "registry": "registry?subject=orders-value"}
ENTRIES = [
    Acl("topic", "orders", "User:shop", "write"),
    Acl("topic", "orders", "User:billing", "read"),
    Acl("group", "billing", "User:billing", "read"),
    Acl("topic", "orders", "User:guest", "all", "deny", "192.0.2.7"),
    Acl("topic", "orders-", "User:reports", "read", pattern_type="prefixed"),
]
ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
AMOUNT = {"name": "amount", "type": "double", "default": 0}


# What is done with the cluster before a page is opened, and with the page.
PAGES = {
    "simulation": (None, _simulation),
    "map": (("kill_broker", {"broker": 2}), _map),
    "connections": (("start_broker", {"broker": 2}), lambda page: page.wait_for_timeout(3_000)),
    "topic": (None, _topic),
    "broker": (None, _broker),
    "rates": (None, _rates),
    "groups": (None, _groups),
    "messages": (None, _messages),
    "clients": (None, _clients),
    "access": (None, _access),
    "registry": (None, _registry),
    "doctor": (("one_address", {}), _doctor),
}


def _fill(simulation: Simulation, registry: MockRegistry) -> None:
    """Add what only the pages Access and Registry show."""
    with ottla.Admin(simulation.mock.bootstrap) as admin:
        admin.create_acls(ENTRIES)
        users = {name: [SetPassword("secret")] for name in ("billing", "reports", "shop")}
        admin.alter_user_scram_credentials(users)
        admin.alter_client_quotas({QuotaEntity(user="reports"): {"consumer_byte_rate": 1_000_000}})
    newer = ORDER | {"fields": [*ORDER["fields"], AMOUNT]}
    for schema in (ORDER, newer):
        registry.register("orders-value", json.dumps(schema))


def main(names: list[str]) -> None:
    """Take the screenshots of some pages, by default of all."""
    TARGET.mkdir(parents=True, exist_ok=True)
    with (
        running_browser() as browser,
        Simulation(brokers=3) as simulation,
        MockRegistry() as registry,
        gateway_with_clients(simulation.mock.bootstrap) as gateway,
        serve(
            simulation.producer,
            simulation=simulation,
            allow_changes=True,
            schema_registry=registry.url,
            gateways=[gateway],
        ) as console,
    ):
        _fill(simulation, registry)
        for name in names or PAGES:
            action, prepare = PAGES[name]
            if name == "simulation":
                simulation.start_scenario("leader_moves", seed=7)
                while simulation.state()["running"]:
                    time.sleep(0.5)
            if action is not None:
                simulation.perform(*action)
            for width, height in HEIGHTS.items():
                for scheme in ("light", "dark"):
                    with open_page(browser, console.url, width=width, scheme=scheme) as page:
                        page.set_viewport_size({"width": width, "height": height})
                        expect(page.locator("#status")).to_have_text(re.compile("live|degraded"))
                        go(page, PLACES.get(name, name))
                        prepare(page)
                        path = TARGET / f"{name}-{width}-{scheme}.jpg"
                        page.screenshot(path=path, type="jpeg", quality=75)


if __name__ == "__main__":
    main(sys.argv[1:])
