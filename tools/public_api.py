#!/usr/bin/env python3
"""Keeps the public Python API as text, one file a module: tools/public_api/ottla.admin.txt.

Public is each name in ``__all__`` of ``ottla``, of its modules without an underscore that have an
``__all__``, and of ``ottla.console.simulation``; and each member of these without an underscore.
The stand-ins in ``ottla.compat`` are not: other libraries define their names, and tests compare
both. Nor is ``ottla.cli``: the interface of commands is their arguments and JSON.

The text has what a program relies on: decorators of other libraries, such as ``dataclass`` with its
arguments and ``abstractmethod``; properties that cannot be set; the fields of a NamedTuple in their
order.

``--check``, as in `make check`, reports differences from the files; ``--write``, as in `make docs`,
writes additions, and with ``--accept`` also what may break a program. Invariants: the files are
made from the source alone, otherwise sorted, so that a difference is a change of the API. griffe
reads the source; ``api_changes.py`` compares.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import griffe

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tools" / "public_api"
# Modules of modules that `__all__` does not name.
_NESTED = ("console.simulation",)
_MADE = "# The public API of {}, written by tools/public_api.py; self and cls are left out.\n"
_NOT_LOADED = {"cli", "compat", "demo"}
# They belong to the definition of a class, not to its use.
_IMPLEMENTED = {
    *("__slots__", "__match_args__", "__init_subclass__", "__repr__", "__str__", "__hash__"),
    *("__ne__", "__reduce__"),
}
_ADVICE = """\
A program that worked with the last release may not work any more. docs/reference/stability.md says
how a name is deprecated: keep the old one, which warns, and name its successor in CHANGELOG.md. If
the change is intended, `tools/public_api.py --write --accept` writes it."""

Texts: TypeAlias = dict[str, str]
"""The texts by module."""


class _Finder(griffe.ModuleFinder):
    """Finds no modules of large packages that are not public: reading them takes seconds."""

    def submodules(self, module: griffe.Module) -> list[tuple[tuple[str, ...], Path]]:
        found = super().submodules(module)
        return [each for each in found if len(each[0]) == 1 or each[0][0] not in _NOT_LOADED]


def texts() -> Texts:
    """Return the API as the source has it."""
    loader = griffe.GriffeLoader(allow_inspection=False)
    loader.finder = _Finder([ROOT / "python"])
    package = loader.load("ottla")
    assert isinstance(package, griffe.Module)
    loader.resolve_aliases(implicit=False, external=False)
    modules = {
        each.path: each
        for each in package.members.values()
        if isinstance(each, griffe.Module) and each.exports and not each.name.startswith("_")
    }
    modules |= {each.path: each for name in _NESTED for each in [package[name]]}
    modules["ottla"] = package
    public = {
        module[name].canonical_path for module in modules.values() for name in _exported(module)
    }
    return {
        path: _MADE.format(path)
        + "".join(
            f"{line}\n" for name in _exported(module) for line in _lines(name, module[name], public)
        )
        for path, module in sorted(modules.items())
    }


def _exported(module: griffe.Object | griffe.Alias) -> list[str]:
    return sorted(map(str, module.exports or ()))


def _lines(name: str, found: griffe.Object | griffe.Alias, public: set[str]) -> Iterator[str]:
    """Yield the lines of a name: Python, as in a stub."""
    if isinstance(found, griffe.Alias):
        found = found.final_target
    if isinstance(found, griffe.Module):
        yield f"{name}: module"
    elif isinstance(found, griffe.Class):
        yield from _class_lines(name, found, public)
    elif isinstance(found, griffe.Function):
        yield from _function_lines(name, found)
    else:
        assert isinstance(found, griffe.Attribute)
        yield _attribute_line(name, found)


def _attribute_line(name: str, found: griffe.Attribute) -> str:
    parts = [name, f": {found.annotation}" if found.annotation else ""]
    # Those of an instance are computed, and the defaults of a dataclass are in its constructor.
    is_computed = "instance-attribute" in found.labels
    if found.value is not None and (not is_computed or _is_tuple(found.parent)):
        parts.append(f" = {found.value}")
    line = "".join(parts) if any(parts[1:]) else f"{name}: Any"
    marks = [
        *(["abstract"] if "abstractmethod" in found.labels else []),
        *(["read-only"] if "property" in found.labels and not _is_writable(found) else []),
    ]
    return f"{line}  # {', '.join(marks)}" if marks else line


def _is_writable(found: griffe.Attribute) -> bool:
    """Return whether a property can be set: a cached one is an attribute of the object."""
    return not found.labels.isdisjoint({"writable", "cached"})


def _is_tuple(found: griffe.Object | griffe.Alias | None) -> bool:
    return isinstance(found, griffe.Class) and any(
        str(base).rpartition(".")[2] == "NamedTuple" for base in found.bases
    )


def _class_lines(name: str, found: griffe.Class, public: set[str]) -> Iterator[str]:
    yield from _decorator_lines(found)
    bases = [str(each) for each in found.bases if _is_shown(each, public)]
    yield f"class {name}({', '.join(bases)}):" if bases else f"class {name}:"
    is_empty = True
    members = sorted(_members(found).items(), key=lambda pair: pair[0])
    if fields := _fields(found):
        members.sort(key=lambda pair: fields.index(pair[0]) if pair[0] in fields else len(fields))
    for its_name, member in members:
        owner = member[0].parent if isinstance(member, list) else _owner(member)
        # The base has it.
        if owner is not None and owner.path != found.path and owner.path in public:
            continue
        lines = (
            (line for each in member for line in _overload_lines(its_name, each))
            if isinstance(member, list)
            else _lines(its_name, member, public)
        )
        for line in lines:
            is_empty = False
            yield f"    {line}"
    if is_empty:
        yield "    ..."


def _fields(found: griffe.Class) -> list[str]:
    """Return the fields of a NamedTuple in their order; none of another class."""
    members = found.members.items() if _is_tuple(found) else ()
    return [
        name
        for name, each in members
        if isinstance(each, griffe.Attribute) and "property" not in each.labels
    ]


def _decorator_lines(found: griffe.Class | griffe.Function) -> Iterator[str]:
    """Yield the decorators of other libraries: ours are no part of the interface."""
    for each in found.decorators:
        if not each.callable_path.startswith("ottla."):
            arguments = str(each.value).partition("(")
            yield f"@{each.callable_path.rpartition('.')[2]}{''.join(arguments[1:])}"


def _members(
    found: griffe.Class,
) -> dict[str, griffe.Object | griffe.Alias | list[griffe.Function]]:
    """Return the public members, also the inherited ones; of a stub's overloads, all."""
    members: dict[str, griffe.Object | griffe.Alias | list[griffe.Function]] = {}
    for each in (*reversed(found.mro()), found):
        members |= {name: list(them) for name, them in each.overloads.items() if them}
        members |= each.members
    return {name: each for name, each in members.items() if _is_member(name)}


def _is_member(name: str) -> bool:
    is_special = name.startswith("__") and name.endswith("__")
    return (is_special and name not in _IMPLEMENTED) or not name.startswith("_")


def _owner(member: griffe.Object | griffe.Alias) -> griffe.Object | griffe.Alias | None:
    return member.final_target.parent if isinstance(member, griffe.Alias) else member.parent


def _is_shown(base: str | griffe.Expr, public: set[str]) -> bool:
    """Return whether programs can rely on a base: a private one has its members in the class."""
    path = base.canonical_path if isinstance(base, griffe.Expr) else base
    return path in public or not path.startswith("ottla.")


def _function_lines(name: str, found: griffe.Function) -> Iterator[str]:
    for each in found.overloads or ():
        yield from _overload_lines(name, each)
    yield from _decorator_lines(found)
    yield _signature(name, found)


def _overload_lines(name: str, found: griffe.Function) -> Iterator[str]:
    yield "@overload"
    yield _signature(name, found)


def _signature(name: str, found: griffe.Function) -> str:
    start = "async def" if "async" in found.labels else "def"
    return f"{start} {' '.join(found.signature(name=name).split())}: ..."


def kept() -> Texts:
    """Return the API as the files have it."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt"))}


def write(after: Mapping[str, str]) -> None:
    """Write the files, and remove those of modules that are gone."""
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.txt"):
        if path.stem not in after:
            path.unlink()
    for module, text in after.items():
        (FOLDER / f"{module}.txt").write_text(text, encoding="utf-8")


def main() -> int:
    """Check or write the files; return the exit code."""
    from api_changes import changes  # a script finds its neighbours

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true", help="report differences")
    mode.add_argument("--write", action="store_true", help="write additions")
    parser.add_argument("--accept", action="store_true", help="also write what may break programs")
    arguments = parser.parse_args()
    before, after = kept(), texts()
    found = changes(before, after)
    may_break = bool(found.breaking or found.changed)
    if arguments.write and (arguments.accept or not may_break):
        write(after)
        return 0
    if before == after:
        return 0
    print(f"The public API is not that of tools/public_api:\n{found}", file=sys.stderr)
    print(_ADVICE if may_break else "`tools/public_api.py --write` adds it.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
