#!/usr/bin/env python3
"""Writes the docstrings of ottla._core, the binary, into its stub, python/ottla/_core.pyi.

Their one source are the doc comments in rust/python/src: PyO3 makes them the binary's docstrings,
and editors show those of the stub. `make docs` calls this; with `--check` it only says whether the
stub is current, as a test does. Invariant: nothing but docstrings changes, and a second run changes
nothing.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ottla import _core

STUB = Path(__file__).resolve().parent.parent / "python" / "ottla" / "_core.pyi"

_Documented = ast.ClassDef | ast.FunctionDef


def stub() -> str:
    """Return the stub's text with the binary's docstrings, formatted by ruff."""
    text = STUB.read_text()
    lines = text.splitlines(keepends=True)
    # From the end on, so that what comes before stays where it is.
    for node, found in sorted(_documented(ast.parse(text)), key=lambda pair: -pair[0].lineno):
        _replace(lines, node, found)
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(STUB), "-"]
    done = subprocess.run(  # noqa: S603 - the command is all ours
        ruff, input="".join(lines), capture_output=True, text=True, check=True
    )
    return done.stdout


def _documented(module: ast.Module) -> Iterator[tuple[_Documented, str | None]]:
    """Return what the stub declares and users see, each with the binary's docstring."""
    for node in module.body:
        if not isinstance(node, _Documented):
            continue
        found = getattr(_core, node.name)
        yield node, found.__doc__
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    public = not member.name.startswith("_")
                    yield member, vars(found)[member.name].__doc__ if public else None


def _replace(lines: list[str], node: _Documented, found: str | None) -> None:
    """Put a docstring where one is, or in place of ``...``, or before a class's members."""
    first = node.body[0]
    if isinstance(first, ast.Expr):
        at, end = first.lineno - 1, first.end_lineno
        # Columns are counted in bytes.
        before = lines[at].encode()[: first.col_offset].decode().rstrip(" ")
    elif found is not None:
        decorators = getattr(first, "decorator_list", [])
        at = end = min(line.lineno for line in [first, *decorators]) - 1
        before = ""
    else:
        return
    body = "..." if found is None else _quoted(found, " " * (node.col_offset + 4))
    indented = f"{' ' * (node.col_offset + 4)}{body}\n"
    lines[at:end] = [f"{before}\n{indented}" if before else indented]


def _quoted(docstring: str, indent: str) -> str:
    text = inspect.cleandoc(docstring).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    rows = [row and f"{indent}{row}" for row in text.splitlines()]
    end = '"""' if len(rows) == 1 else f'\n{indent}"""'
    return '"""' + "\n".join(rows).lstrip() + end


def main() -> int:
    """Write the stub, or check it, and return the exit code."""
    current = stub()
    if "--check" not in sys.argv[1:]:
        STUB.write_text(current)
    elif STUB.read_text() != current:
        print(f"{STUB}: the docstrings are not those of the binary: run make docs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
