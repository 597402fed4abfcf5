"""What differs between two snapshots of the public API, and what of it breaks programs.

``public_api.py`` writes the snapshots. Invariant: each difference of a line is reported; griffe
decides what breaks a call, and a difference that it has no opinion on is reported as one that may.
So is what others have to implement, and a field of a NamedTuple that moves others.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import griffe

_COLOR = re.compile(r"\x1b\[\d+m")
_PROTOCOL = re.compile(r"class \w+\(.*\bProtocol\b")
_TUPLE = re.compile(r"class \w+\(.*\bNamedTuple\b")
_ABSTRACT = re.compile(r"@abstractmethod$|.* # abstract\b")


class Changes(NamedTuple):
    """What differs between two APIs, as lines for people.

    Attributes:
        breaking: what breaks calls that worked.
        changed: what else differs in a signature, a type or a value, what others have to implement
            newly, and fields of a NamedTuple at other places.
        added: other names that are new.
    """

    breaking: list[str]
    changed: list[str]
    added: list[str]

    def __str__(self) -> str:
        parts = (
            ("removed, or breaking", self.breaking),
            ("changed: check that what worked still works", self.changed),
            ("added", self.added),
        )
        lines = [line for title, found in parts if found for line in (f"{title}:", *found)]
        return "\n".join(line if line.endswith(":") else f"  {line}" for line in lines)


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> Changes:
    """Return what differs between two APIs."""
    old, new = _entries(before), _entries(after)
    gone = {name for name in old if name not in new}
    breaking = [
        f"{name} was removed" for name in sorted(gone) if name.rpartition(".")[0] not in gone
    ]
    broken = set()
    for module in sorted({*before} & {*after}):
        for each in griffe.find_breaking_changes(_tree(module, before), _tree(module, after)):
            if each.kind is not griffe.BreakageKind.OBJECT_REMOVED:
                broken.add(each.obj.path)
                breaking.append(_explained(module, each))
    more = {name for name in new if name not in old}
    added, changed = [], _moved_fields(old, new)
    moved = {each.partition("\n")[0] for each in changed}
    for name in sorted(more):
        owner = name.rpartition(".")[0]
        if _is_implemented(name, new) and owner not in more:
            changed.append(f"{name} is new: classes of others do not have it")
        elif owner not in more and not (owner in moved and name in _fields(new, owner)):
            added.append(name)
    for name in old:
        if name not in new or old[name] == new[name] or name in broken:
            continue
        parameters = _added_parameters(old[name], new[name])
        if parameters and not _is_implemented(name, new):
            added += [f"{name}({each})" for each in sorted(parameters)]
        else:
            changed.append(f"{name}\n    - {' | '.join(old[name])}\n    + {' | '.join(new[name])}")
    return Changes(breaking, changed, added)


def _moved_fields(old: Mapping[str, list[str]], new: Mapping[str, list[str]]) -> list[str]:
    """Return the NamedTuples with a field at another place than before."""
    found = []
    for name in old:
        before, after = _fields(old, name), _fields(new, name)
        left = [each for each in before if each in after]
        if left != after[: len(left)]:
            lines = (", ".join(each.rpartition(".")[2] for each in one) for one in (before, after))
            found.append("{}\n    - {}\n    + {}".format(name, *lines))
    return found


def _fields(entries: Mapping[str, list[str]], name: str) -> list[str]:
    """Return the fields of a NamedTuple in their order; none of another name."""
    if not any(_TUPLE.match(line) for line in entries.get(name, ())):
        return []
    return [
        each
        for each, lines in entries.items()
        if each.rpartition(".")[0] == name and re.match(r"\w+:(?!.*# )", lines[-1])
    ]


def _is_implemented(name: str, entries: Mapping[str, list[str]]) -> bool:
    """Return whether programs implement a name: it is abstract, or a member of a protocol."""
    owner = entries.get(name.rpartition(".")[0], [])
    return any(map(_PROTOCOL.match, owner)) or any(map(_ABSTRACT.match, entries[name]))


def _explained(module: str, breakage: griffe.Breakage) -> str:
    text = _COLOR.sub("", breakage.explain(griffe.ExplanationStyle("oneline")))
    return f"{module}.{text.partition(': ')[2].strip()}"


def _added_parameters(old: list[str], new: list[str]) -> set[str]:
    """Return the optional parameters that signatures got; none if anything else differs."""
    added: set[str] = set()
    if len(old) != len(new):
        return added
    for one, other in zip(old, new, strict=True):
        if one == other:
            continue
        if not ("def " in one and "def " in other):
            return set()
        before, after = _function(one), _function(other)
        more = _optional_at_end(before.args, after.args)
        if ast.unparse(before) != ast.unparse(after):
            return set()
        added |= more
    return added


def _optional_at_end(before: ast.arguments, after: ast.arguments) -> set[str]:
    """Remove from ``after`` what is optional and unknown to ``before``; return the names."""
    known = {each.arg for each in before.kwonlyargs}
    pairs = [*zip(after.kwonlyargs, after.kw_defaults, strict=True)]
    more = {each.arg for each, default in pairs if each.arg not in known and default}
    same = [pair for pair in pairs if pair[0].arg not in more]
    after.kwonlyargs, after.kw_defaults = [each for each, _ in same], [each for _, each in same]
    count = len(after.args) - len(before.args)
    if 0 < count <= len(after.defaults) and not before.vararg:
        more |= {each.arg for each in after.args[-count:]}
        del after.args[-count:], after.defaults[-count:]
    return more


def _function(line: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    [found] = ast.parse(line).body
    assert isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef)
    return found


def _entries(modules: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the lines of each name."""
    found: dict[str, list[str]] = {}
    for module, text in modules.items():
        found.setdefault(module, [])
        classes: list[str] = []
        marks: list[str] = []
        for line in text.splitlines():
            stripped = line.strip()
            if not stripped or stripped.startswith(("#", "...")):
                continue
            if stripped.startswith("@"):
                marks.append(stripped)
                continue
            del classes[(len(line) - len(stripped)) // 4 :]
            name = stripped.removeprefix("async ").removeprefix("def ").removeprefix("class ")
            name = name[
                : next(i for i, c in enumerate(f"{name} ") if not (c.isalnum() or c == "_"))
            ]
            found.setdefault(".".join((module, *classes, name)), []).extend((*marks, stripped))
            marks = []
            if stripped.startswith("class "):
                classes.append(name)
    return found


def _tree(module: str, modules: Mapping[str, str]) -> griffe.Module:
    return griffe.visit(module, filepath=Path(f"{module}.py"), code=modules[module])
