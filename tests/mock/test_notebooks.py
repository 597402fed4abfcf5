"""The notebooks in examples/notebooks run in a fresh process, and have the outputs of that run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.jars import REPOSITORY

NOTEBOOKS = sorted((REPOSITORY / "examples" / "notebooks").glob("*.ipynb"))
# A page of a browser, not a program.
CELLS = 20


def check(path: Path) -> subprocess.CompletedProcess[str]:
    """Run a notebook, and report whether its outputs are current."""
    return subprocess.run(
        [sys.executable, str(REPOSITORY / "tools" / "notebooks.py"), "--check", str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_current(path: Path) -> None:
    done = check(path)
    assert done.returncode == 0, f"run make docs: {done.stdout}{done.stderr}"


def test_there_are_three_short_ones() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["arrow_analytics", "start", "typed_columns"]
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert len(cells) <= CELLS
        assert cells[0]["cell_type"] == "markdown"
        assert len({cell["id"] for cell in cells}) == len(cells)


@pytest.mark.parametrize(
    ("source", "kept", "code", "says"),
    [
        ("1 + 1", "2", 0, ""),
        ("1 + 1", "3", 1, "not current"),
        ("1 / 0", "2", 1, "ZeroDivisionError"),
    ],
)
def test_a_notebook_that_is_not_current_is_reported(
    tmp_path: Path, source: str, kept: str, code: int, says: str
) -> None:
    output = {
        "data": {"text/plain": [kept]},
        "metadata": {},
        "output_type": "execute_result",
        "execution_count": 1,
    }
    cell = {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "source": [source],
        "execution_count": 1,
        "outputs": [output],
    }
    path = tmp_path / "one.ipynb"
    text = json.dumps({"cells": [cell], "nbformat": 4}, indent=1) + "\n"
    path.write_text(text, encoding="utf-8")
    done = check(path)
    assert done.returncode == code, done.stderr
    assert says in done.stdout + done.stderr
    assert path.read_text(encoding="utf-8") == text
