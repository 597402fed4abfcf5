"""A headless Chromium, driven by Playwright, and the accessibility checker axe-core.

Invariants: a missing browser fails a test with the remedy; a page that logs an error, requests
anything from elsewhere or violates its content-security policy fails its test.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.support.jars import REPOSITORY

_AXE = REPOSITORY / ".ottla-build/console-assets/node_modules/axe-core/axe.min.js"
TIMEOUT_MS = 30_000
WIDE, NARROW = 1440, 390


def _chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if (path := shutil.which(name)) is not None:
            return path
    pytest.fail("these tests need Chromium: run `make browser`, or install it")


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Run a headless Chromium during the ``with`` block."""
    # A machine that pauses delays everything.
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        # In a container, Chromium's sandbox would need further rights.
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=_chromium(), args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def open_page(
    browser: Browser, url: str, *, width: int = WIDE, scheme: Any = "light"
) -> Iterator[Page]:
    """Open a page; at the end, no script may have failed and nothing may be foreign."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    problems: list[str] = []
    origin = "/".join(url.split("/")[:3])
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
    page.on("console", lambda message: _note(problems, message))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((origin, "blob:", "data:"))
            else problems.append(f"request to {request.url}")
        ),
    )
    try:
        page.goto(url)
        yield page
        if problems:
            pytest.fail("\n".join(problems))
    finally:
        context.close()


def _note(problems: list[str], message: Any) -> None:
    # A response that is an error is shown on the page; the browser's own line about it is no news.
    if message.type == "error" and "Failed to load resource" not in message.text:
        problems.append(f"console: {message.text}")


def go(page: Page, place: str) -> None:
    """Follow a link within the page, such as ``map`` or ``groups?group=billing``."""
    page.evaluate("place => { location.hash = `#/${place}`; }", place)
    page.wait_for_selector("main h2")


# An element that hides a part of its content horizontally, or that needs to be scrolled sideways.
# Names of any length end in an ellipsis, and have a title or a page with the whole. A row of a list
# has a fixed height, which its content must not exceed.
_CLIPPED = """() => [...document.querySelectorAll("main *, header *, nav, nav *")].filter(each => {
  const style = getComputedStyle(each);
  const hides = style.overflowX !== "visible" && style.textOverflow !== "ellipsis";
  const isShown = each.offsetParent !== null && style.position !== "absolute";
  const isWide = each.clientWidth > 1 && each.scrollWidth > each.clientWidth + 1;
  const isHigh = each.matches(".row") && each.scrollHeight > each.clientHeight + 1;
  return hides && isShown && (isWide || isHigh);
}).map(each => `${each.tagName}.${each.className}: ${each.textContent.slice(0, 60)}`)"""


def clipped(page: Page) -> list[str]:
    """Return the elements of a page whose content is wider than they are."""
    found: list[str] = page.evaluate(_CLIPPED)
    return found


def assert_accessible(page: Page) -> None:
    """Assert that axe-core finds nothing: contrast, labels, headings, landmarks and so on."""
    if not _AXE.exists():
        pytest.fail("these tests need axe-core: run `make console-assets`")
    # As the browser's own tools do: the policy of the page does not apply to it.
    page.evaluate(Path(_AXE).read_text(encoding="utf-8") + "; undefined")
    found = page.evaluate("async () => (await axe.run(document)).violations")
    if found:
        pytest.fail("\n".join(map(_violation, found)))


def _violation(found: dict[str, Any]) -> str:
    places = [f"{node['target']}: {node['failureSummary']}" for node in found["nodes"][:3]]
    return f"{found['id']}: {found['help']}: {places}"
