"""The report of `make deep` says of each section what it found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.gate import deep
from tests.support.jars import REPOSITORY


@pytest.mark.parametrize(
    ("output", "status", "summary"),
    [
        ("test result: ok. 3 passed; 0 failed; 1 ignored", 0, "3 passed, 0 failed"),
        ("===== 7 passed, 2 deselected in 3.1s =====", 0, "7 passed, 2 deselected in 3.1s"),
        ("built\n\n==> the crates can be published\n\n", 0, "the crates can be published"),
        ("the two wheels differ", 1, "did not finish"),
        ("", 0, "did not finish"),
    ],
)
def test_a_section_is_summed_up(
    output: str, status: int, summary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deep, "DIRECTORY", tmp_path)
    program = f"import sys; print({output!r}); sys.exit({status})"
    result = deep.run(deep.Section("one", [sys.executable, "-c", program]))
    assert (result.status, result.summary) == (status, summary)
    verdict = "**failed**" if status else "passed"
    assert f"| one | {verdict}: {summary} |" in deep.report([result], seeds=1)


def test_the_scripts_of_sections_exist() -> None:
    commands = {section.name: section.command for section in deep.sections(1)}
    assert {"fuzz", "publish", "reproducible"} <= commands.keys()
    scripts = [command[0] for command in commands.values() if command[0].startswith("tools/")]
    assert [script for script in scripts if not (REPOSITORY / script).is_file()] == []
