"""docs/reference/claims.md has a row for each sentence of the README, and names tests that exist.

Invariant: a word of the README's prose is in a row, or the test fails.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.jars import REPOSITORY

PAGE = REPOSITORY / "docs" / "reference" / "claims.md"
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (?P<claim>.+?) \| (?P<tests>`.+) \|$", re.MULTILINE)
TEST = re.compile(r"`(?P<file>[\w/.]+)::(?P<name>\w+)`(?P<release> \*release\*)?")
ROWS = [
    (row["claim"], [(test["file"], test["name"], bool(test["release"])) for test in tests])
    for row in ROW.finditer(PAGE.read_text(encoding="utf-8"))
    if (tests := list(TEST.finditer(row["tests"])))
]


def prose(text: str) -> str:
    """Return the sentences of the README in one line."""
    # What leads to pages or is the law's, and claims nothing.
    text = re.sub(
        r"^## (Documentation|License)\n.*?(?=^## |\Z)", "", text, flags=re.DOTALL | re.MULTILINE
    )
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"^#.*$|^\|.*$|^!\[.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^- ", "", text, flags=re.MULTILINE)
    return " ".join(text.replace("**", "").split())


def test_each_sentence_has_a_row() -> None:
    rest = prose(README)
    for claim, _ in ROWS:
        assert claim in rest, f"not in the README, or twice on the page: {claim}"
        rest = rest.replace(claim, "", 1)
    assert rest.split() == []


def test_a_sentence_without_a_row_is_found() -> None:
    changed = README.replace("## License", "It is fast.\n\n## License", 1)
    left = prose(changed.replace("## Documentation", "## Elsewhere", 1))
    assert "It is fast." in left


@pytest.mark.parametrize(("file", "name", "release"), sorted({t for _, ts in ROWS for t in ts}))
def test_a_test_is_there(file: str, name: str, release: bool) -> None:
    path = REPOSITORY / file
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".rs":
        assert re.search(rf"#\[(tokio::)?test[^]]*\]\s+(async )?fn {name}\(", text)
        return
    [function] = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    ]
    marked = any("deep" in ast.unparse(mark) for mark in function.decorator_list)
    assert release == (marked or _is_deep(path))


def _is_deep(path: Path) -> bool:
    marks = re.search(r"^pytestmark = (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    elsewhere = path.parent.name in ("frameworks", "fault", "network")
    return elsewhere or (marks is not None and "mark.deep" in marks[1])


def test_each_claim_is_shown_with_every_change_or_says_so() -> None:
    only = [claim for claim, tests in ROWS if all(release for _, _, release in tests)]
    assert only == [
        "`make demo` shows it at work; with `OTTLA_BOOTSTRAP=localhost:9092`, on your own cluster."
    ]
