"""The documentation site with two versions, as it is published, in a browser.

Invariants: the site is built once, and stored and served as in the workflow; no page asks another
host, not even for the repository's figures.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import open_page
from tests.support.jars import REPOSITORY
from tests.support.site_server import serving
from tests.support.web import status
from tests.unit.test_documentation import tool

pytestmark = pytest.mark.deep

# It was not written yet when 0.1 was released.
NEW_PAGE = "guides/gateway"
PAGES = ["", "guides/produce/", "reference/configuration/", "understand/architecture/"]


def put(store: Path, site: Path, *arguments: str) -> None:
    """Add a version to the store."""
    program = REPOSITORY / "tools" / "site_versions.py"
    subprocess.run([sys.executable, program, "add", site, store, *arguments], check=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site with 0.0, with 0.1, which is the latest, and with dev."""
    subprocess.run([REPOSITORY / "tools" / "site.sh"], check=True)
    built = REPOSITORY / ".ottla-build" / "site"
    parent = tmp_path_factory.mktemp("served")
    path = urlsplit(tool("site_versions").site_url()).path
    store = parent / path.strip("/")

    released = parent / "released"
    shutil.copytree(built, released)
    shutil.rmtree(released / NEW_PAGE)
    entry = re.compile(rf"<url>\s*<loc>[^<]*/{NEW_PAGE}/</loc>\s*</url>")
    sitemap = released / "sitemap.xml"
    text, count = entry.subn("", sitemap.read_text())
    assert count == 1
    sitemap.write_text(text)

    put(store, released, "--version", "0.1", "--alias", "latest")
    put(store, built, "--version", "dev")
    put(store, released, "--version", "0.0.2")
    with serving(parent, path) as url:
        yield url


def switch(page: Page, version: str) -> None:
    """Choose a version in the selector."""
    page.locator(".md-version__current").focus()
    page.locator(".md-version__link", has_text=version).click()


def test_the_root_leads_to_the_latest_release(browser: Browser, site: str) -> None:
    with open_page(browser, site) as page:
        page.wait_for_url(f"{site}latest/")
        expect(page.locator("h1")).to_contain_text("ottla")
        expect(page.locator(".md-version__current")).to_have_text("0.1latest")
        expect(page.locator(".ottla-version")).to_be_hidden()


def test_the_selector_lists_all_versions_and_stays_on_the_page(browser: Browser, site: str) -> None:
    with open_page(browser, f"{site}latest/guides/produce/#keys") as page:
        links = page.locator(".md-version__link")
        expect(links).to_have_text(["0.1latest", "0.0.2", "dev"])
        switch(page, "dev")
        page.wait_for_url(f"{site}dev/guides/produce/#keys")
        switch(page, "0.1")
        page.wait_for_url(f"{site}0.1/guides/produce/#keys")


def test_the_selector_leads_to_the_start_of_a_version_without_the_page(
    browser: Browser, site: str
) -> None:
    with open_page(browser, f"{site}dev/{NEW_PAGE}/") as page:
        switch(page, "0.1")
        page.wait_for_url(f"{site}0.1/")


def test_a_page_of_an_old_release_says_so_and_leads_to_the_page_of_the_latest(
    browser: Browser, site: str
) -> None:
    with open_page(browser, f"{site}0.0/guides/produce/") as page:
        text = page.locator(".ottla-version")
        expect(text).to_be_visible()
        expect(text).to_contain_text("ottla 0.0.2")
        text.get_by_role("link", name="Read this page of the latest release, 0.1").click()
        page.wait_for_url(f"{site}latest/guides/produce/")


def test_a_page_of_dev_says_so_and_leads_to_the_page_of_the_release(
    browser: Browser, site: str
) -> None:
    with open_page(browser, f"{site}dev/guides/produce/") as page:
        text = page.locator(".ottla-version")
        expect(text).to_be_visible()
        expect(text).to_contain_text("development version")
        text.get_by_role("link", name="Read this page of the latest release, 0.1").click()
        page.wait_for_url(f"{site}latest/guides/produce/")
        expect(page.locator(".ottla-version")).to_be_hidden()

    with open_page(browser, f"{site}dev/{NEW_PAGE}/") as page:
        link = page.get_by_role("link", name="Read the documentation of the latest release, 0.1")
        link.click()
        page.wait_for_url(f"{site}latest/")


def test_the_search_finds_pages_of_the_version(browser: Browser, site: str) -> None:
    for version in ("latest", "dev"):
        with open_page(browser, f"{site}{version}/guides/produce/") as page:
            page.keyboard.press("/")
            page.get_by_role("searchbox").or_(page.get_by_role("combobox")).first.fill(
                "share groups"
            )
            found = page.locator(f"a[href*='/{version}/guides/share-groups/']").first
            found.click()
            page.wait_for_url(re.compile(f"{re.escape(site)}{version}/guides/share-groups/.*"))


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("version", ["latest", "dev"])
def test_no_page_asks_another_host(browser: Browser, site: str, version: str, path: str) -> None:
    with open_page(browser, f"{site}{version}/{path}") as page:
        page.wait_for_load_state("networkidle")
        expect(page.locator(".md-version__current")).to_be_visible()
        assert page.locator(".md-source").first.get_attribute("href") is not None


def test_addresses_without_a_version_lead_to_the_latest_release(
    browser: Browser, site: str
) -> None:
    assert status(f"{site}guides/produce/") == 404
    for path in ("guides/produce/", "0.9/guides/produce/"):
        with open_page(browser, f"{site}{path}#keys") as page:
            page.wait_for_url(f"{site}latest/guides/produce/#keys")
    with open_page(browser, f"{site}dev/guides/none/") as page:
        page.get_by_role("link", name="Go to the newest version").click()
        page.wait_for_url(f"{site}latest/")
