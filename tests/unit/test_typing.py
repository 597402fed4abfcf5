"""mypy and pyright in strict mode accept correct usage and report every planted mistake.

pyright also checks the snippets of the documentation. Invariant: both check copies outside of the
repository, with ottla as an installed package, so that this repository's settings do not apply.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ottla
from tests.support.jars import REPOSITORY
from tests.support.snippets import snippets

PROGRAMS = REPOSITORY / "tests" / "typing"
PACKAGES = Path(ottla.__file__).resolve().parent.parent

Report = dict[int, str]


def mypy(path: Path) -> Report:
    """Return mypy's messages about a file, by line."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--python-version=3.10"),
            *("--config-file=", "--no-error-summary", "--hide-error-context", path.name),
        ],
        cwd=path.parent,
        env={**os.environ, "MYPYPATH": str(PACKAGES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(r"^([\w.]+):(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    assert {name for name, _, _ in found} <= {path.name}, done.stdout
    return {int(line): message for _, line, message in found}


def run_pyright(directory: Path, mode: str) -> list[tuple[str, int, str]]:
    """Return file, line and message of each error that basedpyright finds in a directory."""
    configuration = {
        "typeCheckingMode": mode,
        "pythonVersion": "3.10",
        "extraPaths": [str(PACKAGES)],
    }
    (directory / "pyrightconfig.json").write_text(json.dumps(configuration))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "basedpyright", "--outputjson"),
            *("--pythonpath", sys.executable, "--project", str(directory)),
        ],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(list(directory.glob("*.py"))), done.stdout
    return [
        (Path(entry["file"]).name, entry["range"]["start"]["line"] + 1, entry["message"])
        for entry in report["generalDiagnostics"]
        if entry["severity"] == "error"
    ]


def pyright(path: Path) -> Report:
    """Return pyright's messages about a file in strict mode, by line."""
    return {line: message for _, line, message in run_pyright(path.parent, "strict")}


@pytest.fixture(params=[mypy, pyright], ids=["mypy", "pyright"])
def check(request: pytest.FixtureRequest) -> Callable[[Path], Report]:
    """Return a type checker."""
    checker: Callable[[Path], Report] = request.param
    return checker


def test_correct_usage_is_accepted(check: Callable[[Path], Report], tmp_path: Path) -> None:
    program = (PROGRAMS / "usage.py").read_text(encoding="utf-8")
    assert "type: ignore" not in program
    path = tmp_path / "usage.py"
    path.write_text(program, encoding="utf-8")
    assert check(path) == {}


def test_only_the_mistakes_are_reported(check: Callable[[Path], Report], tmp_path: Path) -> None:
    first, program = (PROGRAMS / "mistakes.py").read_text(encoding="utf-8").split("\n", 1)
    assert first == "# mypy: ignore-errors"
    path = tmp_path / "mistakes.py"
    path.write_text("\n" + program, encoding="utf-8")
    lines = ["", *path.read_text(encoding="utf-8").splitlines()]
    planted = {number for number, line in enumerate(lines) if "# mistake: " in line}
    assert len(planted) >= 40
    reported = check(path)
    missed = [lines[number].strip() for number in sorted(planted - set(reported))]
    assert not missed
    others = {lines[number].strip(): reported[number] for number in set(reported) - planted}
    assert not others


SESSION = "from pyspark.sql import SparkSession; spark = SparkSession.builder.getOrCreate()"


def test_all_names_and_keywords_in_snippets_exist(tmp_path: Path) -> None:
    """Covers also the snippets for Spark and secured listeners, which few machines can run."""
    pages: dict[str, str] = {}
    # The examples of frameworks are part of the tree, where mypy checks them.
    for snippet in (each for each in snippets("python") if not each.of_framework):
        name = re.sub(r"\W", "_", snippet.id) + ".py"
        pages[name] = snippet.page
        header = SESSION if snippet.uses_spark else ""
        text = header + snippet.text_for("a:9092", Path("/"))
        (tmp_path / name).write_text(text, encoding="utf-8")
    wrong = [
        f"{pages[name]}:{line}: {message}"
        for name, line, message in run_pyright(tmp_path, "basic")
        # pyarrow.compute defines its functions at import; the other is not installed here.
        if not re.search(r"pyarrow\.compute|aws_msk_iam_sasl_signer", message)
    ]
    assert not wrong
