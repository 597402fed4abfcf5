#!/usr/bin/env python3
"""Keeps all versions of the documentation site in one folder, the store, which is published whole.

    python tools/site_versions.py add SITE STORE --version 0.1.3 [--alias latest] [--title TEXT]
    python tools/site_versions.py delete STORE --version 0.1

A version is a release, whose patches share the folder of its minor version, or `dev`. An alias is
a copy of a version. Invariants: `add` replaces one version whole and keeps the others; what depends
on several versions (the list of the theme's selector, the root, canonical addresses, banners) is
derived again from those in the store, so that the same input gives the same bytes.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any, NamedTuple
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "tools" / "site_root"
DEV, LATEST, LIST, SITEMAP = "dev", "latest", "versions.json", "sitemap.xml"
TEXTS = ("llms.txt", "llms-full.txt")  # also at the root, where language models look for them

_RELEASE = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)(\.(0|[1-9]\d*))?")
_CANONICAL = re.compile(r'<link rel="canonical" href="[^"]*">')
# What tools/site_theme/main.html puts into the theme's banner.
_BANNER = re.compile(r'<p class="ottla-version">.*?</p>', re.DOTALL)


class Version(NamedTuple):
    """A version in the store: its folder, its title, its aliases, and its release or `dev`."""

    folder: str
    title: str
    aliases: tuple[str, ...]
    release: str

    @property
    def order(self) -> tuple[int, ...]:
        """The numbers of the release; `dev` comes after all releases in the list."""
        return () if self.release == DEV else tuple(map(int, self.release.split(".")))


def site_url() -> str:
    """Return the address of the root of all versions."""
    configuration = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    match = re.search(r"^site_url: (https://\S+/)$", configuration, re.MULTILINE)
    assert match is not None, "mkdocs.yml has no site_url that ends in a slash"
    return match[1]


def folder_of(version: str) -> str:
    """Return the folder of a version, which the patches of a minor version share."""
    if version == DEV:
        return DEV
    if (match := _RELEASE.fullmatch(version)) is None:
        raise ValueError(f"{version!r} is no version: use {DEV}, or a release such as 0.1 or 0.1.3")
    return f"{match[1]}.{match[2]}"


def read(store: Path) -> list[Version]:
    """Return the versions of a store."""
    if not (store / LIST).exists():
        return []
    rows: list[dict[str, Any]] = json.loads((store / LIST).read_text(encoding="utf-8"))
    return [
        Version(row["version"], row["title"], tuple(row["aliases"]), row["properties"]["release"])
        for row in rows
    ]


def add(site: Path, store: Path, version: str, alias: str | None, title: str | None) -> None:
    """Put a built site into the store as a version, in place of what the version had."""
    folder = folder_of(version)
    if missing := [name for name in ("index.html", SITEMAP, *TEXTS) if not (site / name).exists()]:
        raise ValueError(f"{site} is no built site, it lacks {', '.join(missing)}: run make site")
    if alias is not None and (version == DEV or alias == DEV or not re.fullmatch("[a-z]+", alias)):
        raise ValueError(f"alias {alias!r} of {version}: only releases have aliases, of letters")
    versions = {each.folder: each for each in read(store)}
    old = versions.get(folder, Version(folder, "", (), version))
    new = Version(folder, title or version, old.aliases, version)
    if new.order < old.order:
        raise ValueError(f"the store has {old.release}, which is newer than {version}")
    versions[folder] = new
    owner = next((each for each in versions.values() if alias in each.aliases), None)
    if alias is not None and (owner is None or owner.order <= new.order):
        versions = {each.folder: _without(each, alias) for each in versions.values()}
        versions[folder] = new._replace(aliases=tuple(sorted({*new.aliases, alias})))

    shutil.rmtree(store / folder, ignore_errors=True)
    shutil.copytree(site, store / folder, ignore=shutil.ignore_patterns("404.html"))
    _replace(store / folder / SITEMAP, f"<loc>{site_url()}", f"<loc>{site_url()}{folder}/")
    if new.order[2:]:
        for name in TEXTS:
            _replace(store / folder / name, "/ottla/ottla/main/", f"/ottla/ottla/v{version}/")
    _write_store(store, list(versions.values()))


def delete(store: Path, version: str) -> None:
    """Delete a version. Its aliases pass to the newest release that is left."""
    versions = {each.folder: each for each in read(store)}
    if (deleted := versions.pop(folder_of(version), None)) is None:
        raise ValueError(f"the store has no version {version}")
    if not versions:
        raise ValueError(f"{version} is the only version of the store")
    shutil.rmtree(store / deleted.folder)
    heir = max(versions.values(), key=lambda each: each.order)
    if heir.release != DEV:
        heir = heir._replace(aliases=tuple(sorted({*heir.aliases, *deleted.aliases})))
        versions[heir.folder] = heir
    else:
        for alias in deleted.aliases:
            shutil.rmtree(store / alias)
    _write_store(store, list(versions.values()))


def _without(version: Version, alias: str) -> Version:
    return version._replace(aliases=tuple(each for each in version.aliases if each != alias))


def _write_store(store: Path, versions: Sequence[Version]) -> None:
    versions = sorted(versions, key=lambda each: each.order, reverse=True)
    newest = next((each for each in versions if LATEST in each.aliases), None)
    folders = [each.folder for each in versions]
    home = LATEST if newest is not None else DEV if DEV in folders else folders[0]
    for each in versions:
        _write_pages(store, each, newest)
        for alias in each.aliases:
            shutil.rmtree(store / alias, ignore_errors=True)
            shutil.copytree(store / each.folder, store / alias)
            _replace(
                store / alias / SITEMAP, f"{site_url()}{each.folder}/", f"{site_url()}{alias}/"
            )

    rows = [
        {
            "version": v.folder,
            "title": v.title,
            "aliases": v.aliases,
            "properties": {"release": v.release},
        }
        for v in versions
    ]
    _write(store / LIST, json.dumps(rows, indent=1) + "\n")
    for name in (*TEXTS, SITEMAP):
        shutil.copyfile(store / home / name, store / name)
    aliases = [alias for each in versions for alias in each.aliases]
    values = {
        "url": site_url(),
        "path": urlsplit(site_url()).path,
        "home": home,
        "folders": json.dumps(folders + aliases),
    }
    for name in ("index.html", "404.html"):
        template = Template((PAGES / name).read_text(encoding="utf-8"))
        _write(store / name, template.substitute(values))


def _write_pages(store: Path, version: Version, newest: Version | None) -> None:
    """Set the canonical address and the banner of a version's pages."""
    for file in sorted((store / version.folder).rglob("*.html")):
        directory = file.parent.relative_to(store / version.folder).as_posix()
        page = "" if directory == "." else f"{directory}/"
        is_in_newest = newest is not None and (store / newest.folder / page / file.name).exists()
        owner = LATEST if is_in_newest else version.folder
        canonical = f'<link rel="canonical" href="{site_url()}{owner}/{page}">'
        to_root = "../" * (page.count("/") + 1)
        banner = _banner(version, newest, f"{to_root}{LATEST}/", page if is_in_newest else "")
        text = file.read_text(encoding="utf-8")
        changed = _with(_BANNER, banner, _with(_CANONICAL, canonical, text))
        if changed != text:
            _write(file, changed)


def _with(pattern: re.Pattern[str], new: str, text: str) -> str:
    # A function, since a title may contain what is special in a replacement.
    return pattern.sub(lambda _: new, text, count=1)


def _banner(version: Version, newest: Version | None, latest: str, page: str) -> str:
    """Return the banner of a page, which the theme shows unless the version is the latest."""
    if version.release == DEV:
        text = "This is the documentation of the development version, which is not released."
    else:
        text = f"This is the documentation of ottla {html.escape(version.title)}."
    if newest is not None and newest != version:
        what = "this page" if page else "the documentation"
        release = f"the latest release, {html.escape(newest.title)}"
        text += f' <a href="{latest}{page}">Read {what} of {release}</a>.'
    return f'<p class="ottla-version">{text}</p>'


def _replace(file: Path, old: str, new: str) -> None:
    _write(file, file.read_text(encoding="utf-8").replace(old, new))


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")


def main(arguments: Sequence[str]) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="site_versions.py", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    adding = commands.add_parser("add", help="put a built site into the store")
    adding.add_argument("site", type=Path)
    adding.add_argument("--alias", help="a second name of the version, such as latest")
    adding.add_argument("--title", help="what the selector shows; the version by default")
    deleting = commands.add_parser("delete", help="delete a version")
    for command in (adding, deleting):
        command.add_argument("store", type=Path)
        command.add_argument("--version", required=True)
    given = parser.parse_args(arguments)
    try:
        if given.command == "add":
            add(given.site, given.store, given.version, given.alias, given.title)
        else:
            delete(given.store, given.version)
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
