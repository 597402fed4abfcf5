"""docs/llms.txt lists every page, in the form of llmstxt.org."""

from __future__ import annotations

import re

import pytest

from tests.support.jars import REPOSITORY
from tests.unit.test_documentation import tool

FILE = REPOSITORY / "docs" / "llms.txt"
LLMS_TXT = tool("llms_txt")


def test_the_file_is_current() -> None:
    assert FILE.read_text(encoding="utf-8") == LLMS_TXT.index(), "run make docs"


def test_every_page_is_listed_once_with_a_sentence() -> None:
    line = re.compile(r"^- \[([^\]]+)\]\(\S+/main/docs/(\S+)\): (.+)$", re.MULTILINE)
    listed = line.findall(LLMS_TXT.index())
    pages = [path for _, path, _ in listed]
    folder = REPOSITORY / "docs"
    assert sorted(pages) == sorted(str(p.relative_to(folder)) for p in folder.rglob("*.md"))
    assert [path for _, path, sentence in listed if len(sentence) < 20] == []


def test_the_form_is_that_of_llmstxt() -> None:
    lines = LLMS_TXT.index().splitlines()
    assert lines[0] == "# ottla"
    assert lines[2].startswith("> ")
    headings = [line for line in lines if line.startswith("## ")]
    assert headings[-1] == "## Optional"
    forms = ("# ", "> ", "## ", "- [")
    assert [line for line in lines if line and not line.startswith(forms)] == []


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("# A\n\nOne [link](x.md). Two.\n", "One link."),
        ("# A\n\n| a |\n|---|\n\n```python\nx = 1.\n```\n\nAfter\nit: more.\n", "After it: more."),
        ("# A\n\nVersion 4.3 of `a.b`. It\n", "Version 4.3 of `a.b`."),
        ("# A\n\n::: ottla.A\n\n::: ottla.B\n\nText.\n", "Reference of `ottla.A`, `ottla.B`."),
        ("# A\n\nText.\n\n::: ottla.A\n", "Text."),
        ("# A\n\n## B\n", ""),
    ],
)
def test_the_sentence_of_a_page(page: str, sentence: str) -> None:
    assert LLMS_TXT.sentence(page) == sentence


def test_all_pages_in_one_file() -> None:
    text = LLMS_TXT.full()
    assert "hide:\n" not in text
    for page in LLMS_TXT.pages():
        assert f"# {page.title}\n" in text
