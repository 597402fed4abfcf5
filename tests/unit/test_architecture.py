"""The pictures of docs/understand/architecture.md are those of the tree."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from tests.support.jars import REPOSITORY
from tests.support.snippets import snippets
from tests.unit.test_design import exists

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

PAGE = "docs/understand/architecture.md"
DIAGRAMS = [snippet.text for snippet in snippets("mermaid") if snippet.page == PAGE]
NODE = re.compile(r'^  (\w+)\["(ottla-[\w-]+):', re.MULTILINE)
EDGE = re.compile(r"^  (\w+) (-->|-\.->) (\w+)$", re.MULTILINE)
FILE = re.compile(r"(?<![\w/])(?:[\w-]+/)+(?:\w+\.(?:rs|py))?")
# Not part of the product: measurements, with the crates that they measure.
LEFT_OUT = {"ottla-benches"}

Edges = set[tuple[str, str]]


def read(path: str) -> dict[str, Any]:
    result: dict[str, Any] = tomllib.loads((REPOSITORY / path).read_text(encoding="utf-8"))
    return result


def manifests() -> dict[str, dict[str, Any]]:
    """Return the manifests of the workspace's crates by name."""
    members = read("Cargo.toml")["workspace"]["members"]
    found = [read(f"{member}/Cargo.toml") for member in members]
    by_name = {manifest["package"]["name"]: manifest for manifest in found}
    return {name: by_name[name] for name in by_name if name not in LEFT_OUT}


def dependencies(table: str) -> Edges:
    """Return which crate of the workspace depends on which, but for a crate on itself."""
    return {
        (name, used)
        for name, manifest in manifests().items()
        for used in manifest.get(table, {})
        if used.startswith("ottla-") and used != name
    }


def drawn(diagram: str, arrow: str) -> Edges:
    """Return the edges of a diagram that have this arrow, by the crates' names."""
    nodes = dict(NODE.findall(diagram))
    return {(nodes[a], nodes[b]) for a, kind, b in EDGE.findall(diagram) if kind == arrow}


def test_each_crate_is_drawn() -> None:
    assert sorted(crate for _, crate in NODE.findall(DIAGRAMS[0])) == sorted(manifests())


def test_the_arrows_are_the_dependencies_of_the_crates() -> None:
    used = dependencies("dependencies")
    assert len(used) > 15
    assert drawn(DIAGRAMS[0], "-->") == used
    assert drawn(DIAGRAMS[0], "-.->") == dependencies("dev-dependencies") - used


def test_no_arrow_leads_back() -> None:
    left = drawn(DIAGRAMS[0], "-->")
    while left:
        sources = {source for source, _ in left}
        removable = {edge for edge in left if edge[1] not in sources}
        assert removable, f"a circle among {sorted(left)}"
        left -= removable


def test_files_of_the_pictures_exist() -> None:
    files = [file for diagram in DIAGRAMS for file in FILE.findall(diagram)]
    assert len(files) > 25
    assert [file for file in files if not exists(file)] == []


def test_the_runtime_has_as_many_threads_as_the_pictures_say() -> None:
    source = (REPOSITORY / "rust/python/src/runtime/mod.rs").read_text(encoding="utf-8")
    [threads] = re.findall(r"\.worker_threads\((\d+)\)", source)
    named = re.findall(r"runtime threads \((\d+)\)", "".join(DIAGRAMS))
    assert named == [threads, threads]
