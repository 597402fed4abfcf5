"""The tier of Rust tests: outcomes and times are read from the programs; no test is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.gate.cargo_tier import Program, _print_slowest, _run
from tests.support.jars import REPOSITORY

_OUTPUT = """\
running 4 tests
test quick ... ok <0.001s>
test slow - should panic ... ok <2.500s>
test broken ... FAILED <1.250s>
test untimed ... ok
"""


def _program(directory: Path, output: str) -> Program:
    script = directory / "program"
    script.write_text(f"#!/bin/sh\ncat <<'END'\n{output}END\nexit 101\n")
    script.chmod(0o755)
    return Program(str(script), directory, "crate/program")


def test_outcomes_and_times_are_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    times: dict[str, float] = {}
    status, failures = _run(_program(tmp_path, _OUTPUT), [], times)
    assert status == 101
    assert [failure.test for failure in failures] == ["crate/program: broken"]
    assert times == {
        "crate/program: quick": 0.001,
        "crate/program: slow": 2.5,
        "crate/program: broken": 1.25,
    }
    shown = capfd.readouterr().out
    assert "... ok" not in shown
    assert "test broken ... FAILED" in shown
    _print_slowest(times)
    lines = capfd.readouterr().out.split("\n")
    assert lines[1] == "slowest 3 tests"
    assert lines[2].split() == ["2.50s", "crate/program:", "slow"]
    assert lines[6] == "largest 20 modules"
    assert lines[7].split() == ["3.8s", "3", "tests", "crate/program"]


_NO_TEST_PROGRAM = re.compile(r"^\[lib\][^\[]*^test = false$", re.MULTILINE)
_SOURCES = [
    path.parent / "src"
    for path in sorted(REPOSITORY.glob("rust/*/Cargo.toml"))
    if _NO_TEST_PROGRAM.search(path.read_text()) and (path.parent / "src").is_dir()
]


@pytest.mark.parametrize("source", _SOURCES, ids=lambda source: source.parent.name)
def test_a_library_without_a_test_program_has_no_tests(source: Path) -> None:
    files = list(source.rglob("*.rs"))
    with_tests = [str(path) for path in files if "cfg(test)" in path.read_text()]
    assert files
    assert with_tests == [], "cargo does not run these: move them to tests/"
