"""The code blocks of README.md and the documentation.

Invariant: a snippet runs as printed. `Snippet.text_for` replaces only addresses of brokers and of
the schema registry, and the root of absolute paths by a directory of the test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.jars import REPOSITORY

LANGUAGES = {
    "python": "run on the mock cluster, in Spark's session, or with a framework",
    "sh": "parsed, and run on the mock cluster where the command ends",
    "ini": "a file that the command line reads: profiles, or the users of a gateway",
    "text": "nothing to run",
    "mermaid": "a diagram, drawn by the site",
}

TUTORIAL = "docs/tutorial.md"

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_HOST = r"(?:localhost|kafka\d?):909\d"
_REGISTRY = re.compile(r"http://(?:localhost|registry):8081")
_ADDRESSES = re.compile(rf"{_HOST}(?:,{_HOST})*")


@dataclass(frozen=True)
class Snippet:
    """A code block: its page, its index among the page's blocks of its language, its line."""

    page: str
    language: str
    number: int
    line: int
    text: str

    @property
    def key(self) -> tuple[str, int]:
        """The key of tables of snippets."""
        return self.page, self.number

    @property
    def id(self) -> str:
        """The name of its test."""
        return f"{self.page}-{self.language}-{self.number}"

    @property
    def uses_spark(self) -> bool:
        """Whether it needs a Spark session."""
        return re.search(r"(?<![.\w])spark\b", self.text) is not None

    @property
    def of_framework(self) -> bool:
        """Whether it needs a framework with an environment of its own: tests/frameworks."""
        return self.page.startswith("docs/guides/frameworks/") or self.of_frames

    @property
    def of_tutorial(self) -> bool:
        """Whether it is a step of the tutorial, whose steps tests/mock/test_tutorial.py runs."""
        return self.page == TUTORIAL

    @property
    def of_frames(self) -> bool:
        """Whether it needs Ray or dask, which tests/frameworks/test_frames.py runs."""
        return re.search(r"\bottla\.(ray|dask)\b", self.text) is not None

    def text_for(self, bootstrap: str, directory: Path, registry: str = "") -> str:
        """Return the text for a cluster, a directory and a schema registry.

        It is padded to its line of the page.
        """
        text = _REGISTRY.sub(registry, _ADDRESSES.sub(bootstrap, self.text))
        text = re.sub(r'"(/(?:data|etc|var)/)', rf'"{directory}\1', text)
        return "\n" * (self.line - 1) + text


def pages() -> list[Path]:
    """Return the user documentation's pages."""
    return [*sorted(REPOSITORY.glob("*.md")), *sorted((REPOSITORY / "docs").rglob("*.md"))]


def snippets(language: str | None = None) -> Iterator[Snippet]:
    """Yield the snippets of all pages, in one language or in all."""
    for path in pages():
        page, text = str(path.relative_to(REPOSITORY)), path.read_text(encoding="utf-8")
        numbers: dict[str, int] = {}
        for block in _FENCE.finditer(text):
            kind = block["language"]
            number = numbers[kind] = numbers.get(kind, -1) + 1
            line = text.count("\n", 0, block.start("text")) + 1
            if language in (None, kind):
                yield Snippet(page, kind, number, line, block["text"])
