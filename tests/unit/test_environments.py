"""Environments of frameworks and suites: attempts, and a stamp that only a complete one has."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import environments


@pytest.fixture
def requirements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(environments, "ENVIRONMENTS", tmp_path / "environments")
    monkeypatch.setattr(environments, "_PAUSE", 0.0)
    file = tmp_path / "some.txt"
    file.write_text("a==1")
    return file


@pytest.mark.parametrize(("failures", "attempts"), [(0, 1), (2, 3), (3, 3)])
def test_a_failed_download_is_repeated_twice(
    failures: int, attempts: int, requirements: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[Sequence[str]] = []

    def run(command: Sequence[str], **_: Any) -> None:
        commands.append(command)
        if len(commands) <= failures:
            raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(subprocess, "run", run)
    if failures == attempts:
        with pytest.raises(subprocess.CalledProcessError):
            environments.packages("g", "n", requirements)
    else:
        environments.packages("g", "n", requirements)
        environments.packages("g", "n", requirements)
    assert len(commands) == attempts
    # It is current until its packages change; one that failed never is.
    requirements.write_text("a==2")
    failures = 0
    environments.packages("g", "n", requirements)
    assert len(commands) == attempts + 1
