"""The stubs say what the binary does, and what users write is typed as they would expect."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.jars import REPOSITORY

USAGE = str(Path(__file__).with_name("usage.py"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["mypy.stubtest", "ottla._core"],
        # An ignore that is not needed is an error too: what must be refused is refused.
        ["mypy", "--strict", "--warn-unused-ignores", USAGE],
    ],
    ids=["stubs", "usage"],
)
def test_types(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
