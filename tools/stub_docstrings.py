#!/usr/bin/env python3
"""Copies the docstrings of the extension module ottla._core into its stubs, python/ottla/_core/.

Their source is the doc comments in rust/python/src: PyO3 compiles these into the extension, and
editors show the docstrings of the stubs. `make docs` runs this; with `--check` it only reports
whether the stubs are current. Invariant: only docstrings change, and a second run changes nothing.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ottla import _core

STUBS = Path(__file__).resolve().parent.parent / "python" / "ottla" / "_core"

_Documented = ast.ClassDef | ast.FunctionDef


def documented_stubs() -> dict[Path, str]:
    """Return the text of each stub with the extension's docstrings, formatted by ruff."""
    return {path: _documented_stub(path) for path in sorted(STUBS.glob("*.pyi"))}


def _documented_stub(path: Path) -> str:
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    # Last node first: a replacement does not move the lines above it.
    nodes = sorted(_declarations(ast.parse(text)), key=lambda pair: -pair[0].lineno)
    for node, docstring in nodes:
        _replace(lines, node, docstring)
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(path), "-"]
    done = subprocess.run(  # noqa: S603 - the command is all ours
        ruff, input="".join(lines), capture_output=True, text=True, check=True
    )
    return done.stdout


def _declarations(module: ast.Module) -> Iterator[tuple[_Documented, str | None]]:
    """Yield each class, method and function of a stub, and its docstring in the extension."""
    for node in module.body:
        if not isinstance(node, _Documented):
            continue
        declared = getattr(_core, node.name)
        yield node, declared.__doc__
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    is_public = not member.name.startswith("_")
                    yield member, vars(declared)[member.name].__doc__ if is_public else None


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
    """Write the stubs, or check them, and return the exit code."""
    exit_code = 0
    for path, text in documented_stubs().items():
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
        elif path.read_text() != text:
            message = f"{path}: its docstrings differ from the extension's: run make docs"
            print(message, file=sys.stderr)
            exit_code = 1
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
