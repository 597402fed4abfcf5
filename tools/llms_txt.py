#!/usr/bin/env python3
"""Writes docs/llms.txt, the index of the documentation for language models (llmstxt.org).

    python tools/llms_txt.py             docs/llms.txt, which the site copies; `make docs` calls it
    python tools/llms_txt.py --full F    the text of all pages in one file; tools/site.sh calls it

Titles and sentences come from the pages, the order from the navigation of mkdocs.yml. Invariant:
every page of the navigation is listed once, with a sentence; a test compares the file.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FILE = DOCS / "llms.txt"
# The text of a page, not GitHub's page around it.
ADDRESS = "https://raw.githubusercontent.com/ottla/ottla/main/docs"
# llmstxt.org's section of what may be left out: how ottla is built and compared, not used.
OPTIONAL = ("Compare", "Design")
# Of those that a page of the reference describes.
NAMES = 6

_SECTION = re.compile(r"^  - (\w+):$")
_PAGE = re.compile(r"^ +- (\S+\.md)$")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)(\{[^}]*\})?")
_REFERENCE = re.compile(r"^::: (\S+)$", re.MULTILINE)
# No paragraph: headings, tables, lists, quotations, markup and what mkdocstrings replaces.
_OTHER = ("#", "|", "- ", ">", "<", "!", ":::", "    ", "[!")


class Page(NamedTuple):
    """A page: its section, its path in docs, its title and its first sentence."""

    section: str
    path: str
    title: str
    sentence: str


def pages() -> Iterator[Page]:
    """Yield the pages of the navigation in their order."""
    section = ""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    for line in navigation.splitlines():
        if (match := _SECTION.match(line)) is not None:
            section = match[1]
        elif (match := _PAGE.match(line)) is not None:
            text = page_text(match[1])
            yield Page(section, match[1], title(text), sentence(text))


def page_text(path: str) -> str:
    """Return a page's Markdown without its front matter."""
    return _FRONT_MATTER.sub("", (DOCS / path).read_text(encoding="utf-8")).strip() + "\n"


def title(text: str) -> str:
    """Return the page's heading."""
    match = re.search(r"^# (.+)$", text, re.MULTILINE)
    return match[1] if match is not None else ""


def sentence(text: str) -> str:
    """Return the first sentence of the first paragraph, or the names that the page describes."""
    head = _FENCE.sub("", text).partition("\n:::")[0]
    for block in head.split("\n\n"):
        paragraph = block.strip("\n")
        if paragraph and not paragraph.startswith(_OTHER):
            line = _LINK.sub(r"\1", " ".join(paragraph.split()))
            end = re.search(r"[.:](?= [A-Z`]|$)", line)
            return line[: end.start()] + "." if end is not None else line
    names = [f"`{name}`" for name in _REFERENCE.findall(text)]
    more = ", and others" * (len(names) > NAMES)
    return f"Reference of {', '.join(names[:NAMES])}{more}." if names else ""


def index() -> str:
    """Return the text of llms.txt."""
    listed = list(pages())
    text = f"# ottla\n\n> {listed[0].sentence} Install it with `pip install ottla`.\n"
    sections: dict[str, list[Page]] = {}
    for page in listed:
        heading = "Optional" if page.section in OPTIONAL else page.section
        sections.setdefault(heading, []).append(page)
    optional = sections.pop("Optional", [])
    for heading, of_section in (*sections.items(), ("Optional", optional)):
        text += f"\n## {heading}\n\n"
        for page in of_section:
            text += f"- [{page.title}]({ADDRESS}/{page.path}): {page.sentence}\n"
    return text


def full() -> str:
    """Return the text of all pages."""
    texts = (f"<!-- {ADDRESS}/{page.path} -->\n\n{page_text(page.path)}" for page in pages())
    return "\n".join(texts)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--full"]:
        Path(sys.argv[2]).write_text(full(), encoding="utf-8")
    else:
        FILE.write_text(index(), encoding="utf-8")
