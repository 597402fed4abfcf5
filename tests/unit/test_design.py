"""DESIGN.md, docs/design, CONTRIBUTING.md and the landing page name files and tests that exist."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.jars import REPOSITORY

PAGES = [
    REPOSITORY / "DESIGN.md",
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "docs" / "index.md",
    REPOSITORY / "docs" / "understand" / "architecture.md",
    *sorted((REPOSITORY / "docs" / "design").glob("*.md")),
]
FOLDERS = ("rust", "python", "tests", "benches", "tools", "examples", "docs", "packaging")
ROOT_FILES = ("Makefile", "deny.toml", "CONTRIBUTING.md", "Cargo.toml", "pyproject.toml")

CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w./-]+\.(?:rs|pyi?|toml|sh|md)")
FOLDER = re.compile(r"[\w./-]+/")
TEST = re.compile(r"(?:[\w./-]+: )?(?P<name>(?:test_|[a-z]+_[a-z]+_)\w+)(?P<more>…)?")


@cache
def files() -> tuple[str, ...]:
    """Return the path of every source file and folder, relative to the repository."""
    found = [REPOSITORY / name for name in ROOT_FILES]
    for folder in FOLDERS:
        found += [p for p in (REPOSITORY / folder).rglob("*") if "target" not in p.parts]
    return tuple(str(path.relative_to(REPOSITORY)) + "/" * path.is_dir() for path in found)


@cache
def known_tests() -> frozenset[str]:
    """Return the name of every test function, Rust and Python."""
    sources = [REPOSITORY / f for f in files() if f.endswith((".rs", ".py"))]
    text = "\n".join(source.read_text() for source in sources)
    return frozenset(re.findall(r"^\s*(?:async )?(?:fn|def) (\w+)", text, re.MULTILINE))


def code(page: Path) -> list[str]:
    return CODE.findall(page.read_text())


def exists(path: str) -> bool:
    """Whether the tree has `path`, written as its last components: `client/src/retry/`."""
    parts = path.replace("/src/", "/").lstrip("./")
    return any(f"/{file.replace('/src/', '/')}".endswith(f"/{parts}") for file in files())


def braces(path: str) -> list[str]:
    """Expand `a/{b,c}/` to `a/b/`, `a/c/`."""
    if (match := re.search(r"\{([^}]*)\}", path)) is None:
        return [path]
    return [path[: match.start()] + part + path[match.end() :] for part in match[1].split(",")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_folders_exist(page: Path) -> None:
    named = [path for text in code(page) for path in braces(text)]
    paths = [path.split(": ")[0] for path in named]
    paths = [path for path in paths if FILE.fullmatch(path) or FOLDER.fullmatch(path)]
    paths = [path for path in paths if not path.startswith(".ottla-build/")]
    assert [path for path in paths if not exists(path)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tests_exist(page: Path) -> None:
    missing = []
    for text in code(page):
        if ": " not in text and not text.startswith("test_"):
            continue
        if text.endswith((".py", ".rs")) or (match := TEST.fullmatch(text)) is None:
            continue
        name, more = match["name"], match["more"]
        if not any(test == name or (more and test.startswith(name)) for test in known_tests()):
            missing.append(text)
    assert missing == []


def test_the_map_is_short() -> None:
    assert len((REPOSITORY / "DESIGN.md").read_text().splitlines()) <= 110
