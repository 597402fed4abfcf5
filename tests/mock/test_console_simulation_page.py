"""The Simulation page in a real browser: its buttons and scenarios."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from ottla.console import serve
from ottla.console.simulation import Simulation
from tests.support.browser import assert_accessible, go, open_page


@pytest.fixture
def simulated(browser: Browser) -> Iterator[tuple[Simulation, Page]]:
    with (
        Simulation(brokers=3, speed=10) as simulation,
        serve(simulation.producer, simulation=simulation) as console,
        open_page(browser, console.url) as page,
    ):
        expect(page.locator("h2")).to_have_text("Simulation")
        yield simulation, page


def test_the_buttons_of_the_simulation(simulated: tuple[Simulation, Page]) -> None:
    simulation, page = simulated
    kill = page.locator("[data-action='kill_broker']")
    kill.get_by_label("Broker").select_option("2")
    kill.get_by_role("button").click()
    expect(page.locator("[data-broker='2'][data-running='false']")).to_be_visible()
    expect(page.locator(".commentary")).to_contain_text("broker 2")
    assert {simulation.mock.leader("orders", n) for n in range(6)} <= {1, 3}
    go(page, "map")
    expect(page.locator(".tile.ghost[data-broker='2']")).to_be_visible(timeout=10_000)
    go(page, "simulation")
    start = page.locator("[data-action='start_broker']")
    start.get_by_label("Broker").select_option("2")
    start.get_by_role("button").click()
    expect(page.locator("[data-broker='2'][data-running='true']")).to_be_visible()
    move = page.locator("[data-action='move_leader']")
    before = simulation.mock.leader("orders", 0)
    target = next(n for n in (1, 2, 3) if n != before)
    move.get_by_label("Partition").select_option("0")
    move.get_by_label("To").select_option(str(target))
    move.get_by_role("button").click()
    expect(page.locator(".commentary")).to_contain_text("orders-0 changed from")
    assert simulation.mock.leader("orders", 0) == target
    assert_accessible(page)


def test_a_scenario_runs_to_its_proof(simulated: tuple[Simulation, Page]) -> None:
    _, page = simulated
    page.get_by_label("Seed").fill("7")
    page.locator("[data-scenario='leader_moves'] button").click()
    expect(page.locator("[data-outcome='finished']")).to_be_visible(timeout=60_000)
    expect(page.locator("[data-outcome='finished']")).to_contain_text("seed 7")
    expect(page.locator(".commentary [data-kind='action']").first).to_be_visible()
    expect(page.locator(".commentary [data-kind='note']").first).to_be_visible()
    assert_accessible(page)
