#!/usr/bin/env python3
"""Copies the docstrings of the extension module ottla._core to where editors show them.

Their source is the doc comments in rust/python/src, which PyO3 compiles into the extension. They go
to its stubs, python/ottla/_core/, and to the asyncio twins that are written in Python. `make docs`
runs this; with `--check` it only reports whether the files are current. Invariant: only docstrings
change, and a second run changes nothing.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

from ottla import _core

PACKAGE = Path(__file__).resolve().parent.parent / "python" / "ottla"

_Documented = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_Place: TypeAlias = tuple[_Documented, str | None]

# Python's asyncio classes: their public methods have the docstrings of the blocking class.
_TWINS = {
    PACKAGE / "_internal" / "async_consumer.py": _core.Consumer,
    PACKAGE / "_internal" / "async_share_consumer.py": _core.ShareConsumer,
}


def documented_files() -> dict[Path, str]:
    """Return the text of each stub and twin with the extension's docstrings, formatted by ruff."""
    stubs = sorted((PACKAGE / "_core").glob("*.pyi"))
    return {path: _documented(path, _declarations) for path in stubs} | {
        path: _documented(path, partial(_methods, blocking)) for path, blocking in _TWINS.items()
    }


def _documented(path: Path, find: Callable[[ast.Module], Iterator[_Place]]) -> str:
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    # Last node first: a replacement does not move the lines above it.
    nodes = sorted(find(ast.parse(text)), key=lambda pair: -pair[0].lineno)
    for node, docstring in nodes:
        _replace(lines, node, docstring)
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(path), "-"]
    done = subprocess.run(  # noqa: S603 - the command is all ours
        ruff, input="".join(lines), capture_output=True, text=True, check=True
    )
    return done.stdout


def _declarations(module: ast.Module) -> Iterator[_Place]:
    """Yield each class, method and function of a stub, and its docstring in the extension."""
    for node in module.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        declared = getattr(_core, node.name)
        yield node, declared.__doc__
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    is_public = not member.name.startswith("_")
                    yield member, vars(declared)[member.name].__doc__ if is_public else None


def _methods(blocking: type, module: ast.Module) -> Iterator[_Place]:
    """Yield each public method of an asyncio class, and its docstring in the blocking class."""
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.AsyncFunctionDef) and not member.name.startswith("_"):
                    yield member, vars(blocking)[member.name].__doc__


def _replace(lines: list[str], node: _Documented, docstring: str | None) -> None:
    """Replace a docstring or ``...``, or insert a docstring above a class's members."""
    first = node.body[0]
    if isinstance(first, ast.Expr):
        start, end = first.lineno - 1, first.end_lineno
        # The AST counts columns in bytes.
        before = lines[start].encode()[: first.col_offset].decode().rstrip(" ")
    elif docstring is not None:
        decorators = getattr(first, "decorator_list", [])
        start = end = min(line.lineno for line in [first, *decorators]) - 1
        before = ""
    else:
        return
    indent = " " * (node.col_offset + 4)
    body = "..." if docstring is None else _quoted(docstring, indent)
    indented = f"{indent}{body}\n"
    lines[start:end] = [f"{before}\n{indented}" if before else indented]


def _quoted(docstring: str, indent: str) -> str:
    text = inspect.cleandoc(docstring).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    rows = [row and f"{indent}{row}" for row in text.splitlines()]
    end = '"""' if len(rows) == 1 else f'\n{indent}"""'
    return '"""' + "\n".join(rows).lstrip() + end


def main() -> int:
    """Write the files, or check them, and return the exit code."""
    exit_code = 0
    for path, text in documented_files().items():
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
        elif path.read_text() != text:
            message = f"{path}: its docstrings differ from the extension's: run make docs"
            print(message, file=sys.stderr)
            exit_code = 1
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
