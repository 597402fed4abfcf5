"""tools/site_versions.py keeps every version of the documentation site, and what leads to them.

The sites here are small; tests/site shows the real one in a browser.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.jars import REPOSITORY
from tests.support.small_site import RAW, URL, VERSIONS, build
from tests.unit.test_documentation import tool


def add(site: Path, store: Path, version: str, *more: str) -> None:
    VERSIONS.main(["add", str(site), str(store), "--version", version, *more])


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def listed(store: Path) -> list[tuple[str, str, list[str]]]:
    rows = json.loads((store / "versions.json").read_text())
    return [(row["version"], row["title"], row["aliases"]) for row in rows]


def heading(store: Path, page: str) -> str:
    match = re.search("<h1>(.*)</h1>", (store / page / "index.html").read_text())
    assert match is not None
    return match[1]


def canonical(store: Path, page: str) -> str:
    match = re.search('canonical" href="(.*)"', (store / page / "index.html").read_text())
    assert match is not None
    return match[1].removeprefix(URL)


def banner(store: Path, page: str) -> str:
    text = (store / page / "index.html").read_text()
    match = re.fullmatch(r'.*<p class="ottla-version">(.*)</p>.*', text, re.DOTALL)
    assert match is not None
    return match[1]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with dev, the releases 0.9.1 and 0.10.0, the latest; a page came and one went."""
    folder = tmp_path / "store"
    add(build(tmp_path / "a", "0.9.1", ("", "old/")), folder, "0.9.1", "--alias", "latest")
    add(build(tmp_path / "b", "0.10.0", ("", "guides/")), folder, "0.10.0", "--alias", "latest")
    add(build(tmp_path / "c", "main", ("", "guides/", "new/")), folder, "dev")
    return folder


def test_the_list_has_the_newest_release_first_and_dev_last(store: Path) -> None:
    assert listed(store) == [
        ("0.10", "0.10.0", ["latest"]),
        ("0.9", "0.9.1", []),
        ("dev", "dev", []),
    ]


def test_a_version_is_replaced_whole_and_the_others_stay(tmp_path: Path, store: Path) -> None:
    before = contents(store)
    add(build(tmp_path / "d", "0.9.2", ("", "other/")), store, "0.9.2")
    assert listed(store)[1] == ("0.9", "0.9.2", [])
    assert heading(store, "0.9") == heading(store, "0.9/other") == "0.9.2"
    assert not (store / "0.9/old").exists()
    after = contents(store)
    changed = {path for path in before | after if before.get(path) != after.get(path)}
    assert {path for path in changed if not path.startswith("0.9/")} == {"versions.json"}


def test_the_same_input_gives_the_same_bytes(tmp_path: Path, store: Path) -> None:
    before = contents(store)
    add(tmp_path / "a", store, "0.9.1")
    add(tmp_path / "b", store, "0.10.0", "--alias", "latest")
    add(tmp_path / "c", store, "dev")
    assert contents(store) == before
    # In another order, too.
    other = tmp_path / "other"
    add(tmp_path / "c", other, "dev")
    add(tmp_path / "b", other, "0.10.0", "--alias", "latest")
    add(tmp_path / "a", other, "0.9.1", "--alias", "latest")
    assert contents(other) == before


def test_an_alias_is_a_copy_with_the_same_paths(store: Path) -> None:
    latest, release = contents(store / "latest"), contents(store / "0.10")
    assert latest.pop("sitemap.xml") == release.pop("sitemap.xml").replace(b"/0.10/", b"/latest/")
    assert latest == release


def test_an_older_release_does_not_take_the_alias(tmp_path: Path, store: Path) -> None:
    add(build(tmp_path / "d", "0.9.2"), store, "0.9.2", "--alias", "latest")
    assert [row[2] for row in listed(store)] == [["latest"], [], []]
    assert heading(store, "latest") == "0.10.0"


def test_an_older_patch_does_not_replace_a_newer_one(
    tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(store)
    with pytest.raises(SystemExit):
        add(tmp_path / "a", store, "0.9.0")
    assert "the store has 0.9.1, which is newer than 0.9.0" in capsys.readouterr().err
    assert contents(store) == before


@pytest.mark.parametrize(
    "version", ["", "v0.1.3", "0", "0.1.3.4", "0.01", "0.1rc1", "latest", "../0.1", "0.1/", "0.1\n"]
)
def test_other_versions_are_refused(
    version: str, tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(tmp_path)
    with pytest.raises(SystemExit):
        add(tmp_path / "a", store, version)
    assert f"{version!r} is no version" in capsys.readouterr().err
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("version", "alias"), [("dev", "latest"), ("0.9.1", "dev"), ("0.9.1", "0.8"), ("0.9.1", "..")]
)
def test_other_aliases_are_refused(
    version: str, alias: str, tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(store)
    with pytest.raises(SystemExit):
        add(tmp_path / "a", store, version, "--alias", alias)
    assert f"alias {alias!r} of {version}" in capsys.readouterr().err
    assert contents(store) == before


def test_what_is_no_site_is_refused(
    tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c" / "sitemap.xml").unlink()
    before = contents(store)
    with pytest.raises(SystemExit):
        add(tmp_path / "c", store, "dev")
    assert "it lacks sitemap.xml: run make site" in capsys.readouterr().err
    assert contents(store) == before


def test_the_root_leads_to_the_latest_release_or_to_dev(tmp_path: Path, store: Path) -> None:
    assert 'href="latest/"' in (store / "index.html").read_text()
    only_dev = tmp_path / "only-dev"
    add(tmp_path / "c", only_dev, "dev")
    assert 'href="dev/"' in (only_dev / "index.html").read_text()


@pytest.mark.parametrize("name", ["llms.txt", "llms-full.txt"])
def test_the_texts_for_language_models_are_those_of_the_newest(name: str, store: Path) -> None:
    text = f"0.10.0: {RAW}/v0.10.0/docs/index.md"
    assert (store / name).read_text() == (store / "0.10" / name).read_text() == text
    assert (store / "dev" / name).read_text() == f"main: {RAW}/main/docs/index.md"


def test_a_page_is_known_by_the_address_of_the_latest_release_that_has_it(store: Path) -> None:
    pages = ["latest", "0.10/guides", "0.9", "0.9/old", "dev", "dev/guides", "dev/new"]
    assert [canonical(store, page) for page in pages] == [
        *("latest/", "latest/guides/", "latest/", "0.9/old/", "latest/", "latest/guides/"),
        "dev/new/",
    ]


def test_sitemaps_list_what_is_there(store: Path) -> None:
    for folder in ("0.9", "0.10", "latest", "dev"):
        addresses = re.findall("<loc>(.*?)</loc>", (store / folder / "sitemap.xml").read_text())
        assert all(address.startswith(f"{URL}{folder}/") for address in addresses)
        files = {store / a.removeprefix(URL) / "index.html" for a in addresses}
        assert files == set((store / folder).rglob("index.html"))
    assert (store / "sitemap.xml").read_bytes() == (store / "latest/sitemap.xml").read_bytes()


def test_banners_lead_to_the_page_of_the_latest_release(tmp_path: Path, store: Path) -> None:
    link = '<a href="{}">Read {} of the latest release, 0.10.0</a>.'
    old = "This is the documentation of ottla 0.9.1. "
    dev = "This is the documentation of the development version, which is not released."
    the_page, documentation = "this page", "the documentation"
    assert banner(store, "0.9") == old + link.format("../latest/", documentation)
    assert banner(store, "0.9/old") == old + link.format("../../latest/", documentation)
    assert banner(store, "dev/guides") == f"{dev} " + link.format("../../latest/guides/", the_page)
    assert banner(store, "dev/new") == f"{dev} " + link.format("../../latest/", documentation)
    assert "<a" not in banner(store, "0.10") + banner(store, "latest/guides")

    only_dev = tmp_path / "only-dev"
    add(tmp_path / "c", only_dev, "dev")
    assert banner(only_dev, "dev/guides") == dev


def test_a_title_is_shown_as_it_is(tmp_path: Path, store: Path) -> None:
    add(tmp_path / "a", store, "0.9.1", "--title", r"<0.9> \1")
    assert listed(store)[1][1] == r"<0.9> \1"
    assert r"ottla &lt;0.9&gt; \1." in banner(store, "0.9/old")


def test_a_missing_page_is_explained_at_the_root_only(store: Path) -> None:
    assert [str(file.relative_to(store)) for file in store.rglob("404.html")] == ["404.html"]
    page = (store / "404.html").read_text()
    assert '["0.10", "0.9", "dev", "latest"].includes' in page
    assert "$" not in page.replace("+$/", "")


def test_deleting_a_version_passes_its_alias_on(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    VERSIONS.main(["delete", str(store), "--version", "0.10"])
    assert listed(store) == [("0.9", "0.9.1", ["latest"]), ("dev", "dev", [])]
    assert not (store / "0.10").exists()
    assert heading(store, "latest") == "0.9.1"
    assert canonical(store, "dev/guides") == "dev/guides/"

    VERSIONS.main(["delete", str(store), "--version", "0.9.1"])
    assert listed(store) == [("dev", "dev", [])]
    assert not (store / "latest").exists()
    assert 'href="dev/"' in (store / "index.html").read_text()
    for version, message in (("0.9", "has no version 0.9"), ("dev", "the only version")):
        with pytest.raises(SystemExit):
            VERSIONS.main(["delete", str(store), "--version", version])
        assert message in capsys.readouterr().err


def test_the_links_of_the_readme_and_the_packages_lead_to_pages_of_the_site() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"https://github\.com/ottla/ottla/\w+/main/docs/([\w./-]+)", readme)
    pages = {page.path for page in tool("llms_txt").pages()}
    assert len(links) > 10
    assert [link for link in links if link not in pages] == []
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nDocumentation = "{URL}"\n' in project
