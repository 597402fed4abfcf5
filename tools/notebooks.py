#!/usr/bin/env python3
"""Runs the notebooks in examples/notebooks and keeps their outputs current.

    python tools/notebooks.py [FILE ...]            run them and write their outputs
    python tools/notebooks.py --check [FILE ...]    report those whose outputs are not current

It runs the code cells in order, each notebook in a process of its own, and keeps what a cell prints
and the value of its last expression as text. Jupyter is not needed. Invariant: outputs depend on
nothing but the cells, so cells show no address, time or identifier of a run.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import multiprocessing
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

DIRECTORY = Path(__file__).resolve().parent.parent / "examples" / "notebooks"

Outputs = list[dict[str, Any]]


def current(path: Path) -> str:
    """Return a notebook's text with the outputs that its cells have in a fresh process."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    sources = ["".join(cell["source"]) for cell in cells]
    # Not forked: a process that has used ottla's runtime, polars or pyarrow must not be.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        results = pool.apply(run, (path.name, sources))
    for number, (cell, outputs) in enumerate(zip(cells, results, strict=True), start=1):
        cell["execution_count"] = number
        cell["outputs"] = [
            {**output, "execution_count": number} if "data" in output else output
            for output in outputs
        ]
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def run(name: str, sources: Iterable[str]) -> list[Outputs]:
    """Run cells in order as the main module of this process, and return the outputs of each."""
    # Annotations of the cells' classes are looked up in it.
    module = sys.modules["__main__"] = ModuleType("__main__")
    return [
        run_cell(f"{name}, cell {number}", source, vars(module))
        for number, source in enumerate(sources, start=1)
    ]


def run_cell(name: str, source: str, namespace: dict[str, Any]) -> Outputs:
    """Run one cell; an exception is raised with the cell's name as the file."""
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), namespace)  # noqa: S102
        if isinstance(last, ast.Expr):
            expression = ast.Expression(last.value)
            value = eval(compile(expression, name, "eval"), namespace)  # noqa: S307
    outputs: Outputs = []
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(text)})
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        outputs.append({"data": data, "metadata": {}, "output_type": "execute_result"})
    return outputs


def lines(text: str) -> list[str]:
    """Return a text as notebooks store it."""
    return text.splitlines(keepends=True)


def main(arguments: list[str]) -> int:
    """Run the notebooks that are named, by default all; return the exit code."""
    check = "--check" in arguments
    named = [Path(argument) for argument in arguments if argument != "--check"]
    outdated = 0
    for path in named or sorted(DIRECTORY.glob("*.ipynb")):
        text = current(path)
        if text != path.read_text(encoding="utf-8"):
            outdated += 1
            print(f"{path.name}: {'not current' if check else 'written'}")
            if not check:
                path.write_text(text, encoding="utf-8")
    return 1 if check and outdated else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
