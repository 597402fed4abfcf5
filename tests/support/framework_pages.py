"""The pages of docs/guides/frameworks.

Invariant: what they print is what the tests run. A test takes its command from the page
(`program`), and tests/unit/test_framework_pages.py compares their Python with the examples.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from tests.support.jars import REPOSITORY
from tests.support.snippets import Snippet, snippets

DIRECTORY = REPOSITORY / "docs" / "guides" / "frameworks"
_COMMAND = re.compile(r"python (?:-m ottla\.compat (?P<client>\w+) )?(?P<program>.*)")


@dataclass(frozen=True)
class PrintedCommand:
    """A command line of a page: `python [-m ottla.compat CLIENT] PROGRAM`."""

    page: str
    client: str | None
    program: tuple[str, ...]


def pages() -> list[Path]:
    """Return the pages."""
    return sorted(DIRECTORY.glob("*.md"))


def blocks(language: str) -> list[Snippet]:
    """Return the code blocks of all pages in one language."""
    return [snippet for snippet in snippets(language) if f"/{DIRECTORY.name}/" in snippet.page]


def commands() -> list[PrintedCommand]:
    """Return the command lines of all pages."""
    printed = []
    for block in blocks("text"):
        for line in block.text.splitlines():
            if match := _COMMAND.fullmatch(line):
                words = tuple(shlex.split(match["program"]))
                printed.append(PrintedCommand(Path(block.page).stem, match["client"], words))
    return printed


def program(page: str, containing: str) -> tuple[str, ...]:
    """Return the program and arguments of the one command of a page with a text."""
    [found] = [
        command.program
        for command in commands()
        if command.page == page and containing in " ".join(command.program)
    ]
    return found
