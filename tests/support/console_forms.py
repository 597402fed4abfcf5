"""The forms of the console's changes, as a user fills them in."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect


def plan_of(page: Page, title: str) -> tuple[Locator, Locator]:
    """Ask for the plan of a change; return its section and its plan."""
    section = page.get_by_role("region", name=title, exact=True)
    section.get_by_role("button", name="Show the plan").click()
    return section, page.get_by_role("region", name=f"Plan: {title}", exact=True)


def carry_out(page: Page, title: str, button: str, *, typed: str | None = None) -> str:
    """Ask for the plan of a change, and carry it out; return the outcome.

    Args:
        page: the page.
        title: the heading of the change.
        button: the text of the button that carries the plan out.
        typed: the name that is typed to confirm a deletion.
    """
    section, plan = plan_of(page, title)
    expect(plan).to_be_visible()
    if typed is not None:
        section.get_by_label(f"Type {typed} to confirm").fill(typed)
    section.get_by_role("button", name=button, exact=True).click()
    outcome = section.locator(".outcome")
    expect(outcome).to_be_visible()
    return outcome.inner_text()
