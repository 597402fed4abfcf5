"""The snapshot of the public API, and what a change of it breaks."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path
from typing import Any

import griffe
import pytest

import ottla
from tests.support.jars import REPOSITORY
from tests.unit.test_documentation import tool

api = tool("public_api")
compared = tool("api_changes")

BEFORE = """\
class Reader(Base):
    def __enter__() -> Self: ...
    limit: int
    @overload
    def read(*, errors: Literal['raise'] = 'raise') -> list[str]: ...
    @overload
    def read(*, errors: Literal['return']) -> list[str | Error]: ...
    async def wait(topic: str, *, timeout: float = 1.0) -> int: ...
def scan(topic: str, limit: int = 5) -> Scan: ...
"""


SHAPES = """\
@dataclass(frozen=True)
class Point:
    x: int
class Entry(NamedTuple):
    key: str
    value: int = 0
    size: int  # read-only
class Format(Protocol[T]):
    def encode(value: T) -> bytes: ...
class Base:
    @contextmanager
    def open() -> Iterator[int]: ...
    limit: int
    def read() -> int: ...
"""


def changes(before: str, after: str) -> Any:
    assert before in BEFORE
    return compared.changes({"ottla": BEFORE}, {"ottla": BEFORE.replace(before, after)})


@pytest.mark.parametrize(
    ("before", "after", "reported"),
    [
        ("limit: int\n", "size: int\n", "ottla.Reader.limit was removed"),
        ("wait(topic: str, *", "wait(*", "ottla.Reader.wait(topic): Parameter was removed"),
        ("timeout: float = 1.0", "seconds: float = 1.0", "wait(timeout): Parameter was removed"),
        ("timeout: float = 1.0", "timeout: float = 2.0", "default was changed: 1.0 -> 2.0"),
        ("timeout: float = 1.0", "timeout: float", "(timeout): Parameter is now required"),
        ("topic: str, *,", "topic: str, key: str, *,", "(key): Parameter was added as required"),
        ("topic: str, *,", "*, topic: str,", "wait(topic): Parameter kind was changed"),
        ("Reader(Base)", "Reader", "ottla.Reader: Base class was removed"),
        ("class Reader(Base)", "class Other(Base)", "ottla.Reader was removed"),
    ],
)
def test_what_breaks_a_program(before: str, after: str, reported: str) -> None:
    found = changes(before, after)
    assert any(reported in each for each in found.breaking), found
    assert "\x1b" not in str(found)
    # Its members are gone with it.
    assert len([each for each in found.breaking if "was removed" in each]) <= 1


@pytest.mark.parametrize(
    ("before", "after", "reported"),
    [
        ("-> int", "-> str", "ottla.Reader.wait"),
        ("async def wait", "def wait", "ottla.Reader.wait"),
        ("topic: str, limit", "topic: bytes, limit", "ottla.scan"),
        ("list[str | Error]", "list[Error]", "ottla.Reader.read"),
    ],
)
def test_what_may_break_a_program(before: str, after: str, reported: str) -> None:
    found = changes(before, after)
    assert [each.partition("\n")[0] for each in (*found.changed, *found.breaking)] == [reported]


@pytest.mark.parametrize(
    ("before", "after", "added"),
    [
        ("limit: int\n", "limit: int\n    size: int\n", "ottla.Reader.size"),
        ("timeout: float", "key: int = 0, timeout: float", "ottla.Reader.wait(key)"),
        ("*, errors", "*, all: bool = False, errors", "ottla.Reader.read(all)"),
        ("limit: int = 5)", "limit: int = 5, key: str = '')", "ottla.scan(key)"),
        ("def scan", "class New:\n    name: str\ndef scan", "ottla.New"),
    ],
)
def test_additions(before: str, after: str, added: str) -> None:
    assert changes(before, after) == compared.Changes([], [], [added])


@pytest.mark.parametrize(
    ("before", "after", "reported"),
    [
        ("    key: str\n    value: int = 0\n", "    value: int = 0\n    key: str\n", "Entry"),
        ("    key: str\n", "    at: int\n    key: str\n", "Entry"),
        ("    value: int", "    at: int\n    value: int", "Entry"),
        ("value: int = 0", "value: int", "Entry.value"),
        ("@dataclass(", "@dataclass(order=True, ", "Point"),
        ("(frozen=True)", "", "Point"),
        ("@dataclass(frozen=True)\n", "", "Point"),
        ("limit: int", "limit: int  # read-only", "Base.limit"),
        ("    def read", "    @abstractmethod\n    def read", "Base.read"),
        ("    @contextmanager\n", "", "Base.open"),
        ("bytes: ...", "bytes: ...\n    def decode(data: bytes) -> T: ...", "Format.decode"),
        ("(value: T)", "(value: T, *, topic: str = '')", "Format.encode"),
        ("    limit", "    @abstractmethod\n    def close() -> None: ...\n    limit", "Base.close"),
        ("    limit", "    end: int  # abstract, read-only\n    limit", "Base.end"),
    ],
)
def test_what_others_rely_on_beyond_signatures(before: str, after: str, reported: str) -> None:
    assert before in SHAPES
    found = compared.changes({"ottla": SHAPES}, {"ottla": SHAPES.replace(before, after)})
    names = [re.split(r"[\n:]| is new", each)[0] for each in (*found.changed, *found.breaking)]
    assert (names, found.added) == ([f"ottla.{reported}"], [])


@pytest.mark.parametrize(
    ("before", "after", "added"),
    [
        ("int = 0\n", "int = 0\n    at: int = 0\n", "ottla.Entry.at"),
        ("    size", "    def total() -> int: ...\n    size", "ottla.Entry.total"),
        ("class Base", "class Other(Protocol):\n    name: str\nclass Base", "ottla.Other"),
        ("    limit", "    end: int\n    limit", "ottla.Base.end"),
    ],
)
def test_additions_to_shapes(before: str, after: str, added: str) -> None:
    found = compared.changes({"ottla": SHAPES}, {"ottla": SHAPES.replace(before, after)})
    assert found == compared.Changes([], [], [added])


SOURCE = """\
from abc import abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

class Entry(NamedTuple):
    value: int
    key: str = ""

@dataclass(frozen=True)
class Point:
    x: int

class Base:
    @property
    def end(self) -> int: ...
    @property
    def limit(self) -> int: ...
    @limit.setter
    def limit(self, value: int) -> None: ...
    @cached_property
    def name(self) -> str: ...
    @property
    @abstractmethod
    def part(self) -> int: ...
    @abstractmethod
    def read(self) -> int: ...
    @classmethod
    @contextmanager
    def open(cls) -> Iterator[int]: ...
"""


def test_the_text_has_orders_labels_and_decorators() -> None:
    module = griffe.visit("m", filepath=Path("m.py"), code=SOURCE)
    lines = [line for name in ("Entry", "Base") for line in api._lines(name, module[name], set())]
    assert lines == [
        "class Entry(NamedTuple):",
        "    value: int",
        "    key: str = ''",
        "class Base:",
        "    end: int  # read-only",
        "    limit: int",
        "    name: str",
        "    @classmethod",
        "    @contextmanager",
        "    def open() -> Iterator[int]: ...",
        "    part: int  # abstract, read-only",
        "    @abstractmethod",
        "    def read() -> int: ...",
    ]
    point = list(api._lines("Point", module["Point"], set()))
    assert point[:2] == ["@dataclass(frozen=True)", "class Point:"]


def test_writing_needs_consent_to_what_may_break_programs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(api, "FOLDER", tmp_path)
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools"))
    now = {"ottla": BEFORE, "ottla.gone": "def f() -> None: ...\n"}
    monkeypatch.setattr(api, "texts", lambda: now)

    def run(*options: str) -> int:
        monkeypatch.setattr("sys.argv", ["public_api.py", *options])
        return int(api.main())

    assert (run("--check"), run("--write"), run("--check"), api.kept()) == (1, 0, 0, now)
    now = {"ottla": BEFORE.replace("    limit: int\n", "")}
    capsys.readouterr()
    assert (run("--check"), run("--write")) == (1, 1)
    printed = capsys.readouterr().err
    assert "ottla.gone was removed" in printed
    assert "docs/reference/stability.md" in printed
    assert (run("--write", "--accept"), run("--check"), api.kept()) == (0, 0, now)


def test_documented_names_are_public() -> None:
    known = {*compared._entries(api.kept())}
    pages = (REPOSITORY / "docs").rglob("*.md")
    found = [
        name
        for page in pages
        for name in re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert len(found) > 50
    last = {name.rpartition(".")[2] for name in known}
    missing = [name for name in found if name not in known and name.rpartition(".")[2] not in last]
    assert missing == []


def test_the_version_is_written_in_one_place() -> None:
    [version] = re.findall(
        r'^\[workspace\.package\]\n(?:.*\n)*?version = "(.*)"$',
        (REPOSITORY / "Cargo.toml").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert ottla.__version__ == version
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in project
    for crate in (REPOSITORY / "rust").glob("*/Cargo.toml"):
        text = crate.read_text(encoding="utf-8")
        own = re.search(r'^version = "(.*)"$', text, re.MULTILINE)
        assert own is None or own[1] == "0.0.0", crate
    try:
        installed = metadata.version("ottla")
    except metadata.PackageNotFoundError:
        return
    assert installed == version
