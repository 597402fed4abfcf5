"""The three ways in: an import, ``install()``, and ``python -m ottla.compat``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ottla.compat import install

PROGRAM = """
import sys
import confluent_kafka
from confluent_kafka import Consumer, Producer
from confluent_kafka.error import ConsumeError
from confluent_kafka.serialization import StringSerializer
import confluent_kafka.cimpl, ottla.compat.confluent_kafka as layer
assert confluent_kafka is layer and sys.modules["confluent_kafka.cimpl"] is layer.cimpl
assert Producer({}).__class__ is layer.Producer
assert confluent_kafka.cimpl.__spec__.name == "ottla.compat.confluent_kafka.cimpl"
print(sys.argv[1:], __name__, sys.path[0])
"""


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def test_a_program_runs_unchanged(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    ran = _run("-m", "ottla.compat", "confluent_kafka", str(program), "a", "-b")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == f"['a', '-b'] __main__ {tmp_path}"


def test_install_replaces_the_client_before_it_is_imported(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import ottla.compat\nottla.compat.install('confluent_kafka')\n" + PROGRAM)
    ran = _run(str(program))
    assert ran.returncode == 0, ran.stderr


def test_install_after_the_client_was_imported_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import confluent_kafka, ottla.compat\nottla.compat.install('confluent_kafka')"
    )
    ran = _run(str(program))
    assert "already imported" in ran.stderr


def test_there_is_no_stand_in_for_other_packages() -> None:
    with pytest.raises(ValueError, match="no stand-in"):
        install("requests")  # type: ignore[arg-type]
    assert "usage" in _run("-m", "ottla.compat", "requests", "x.py").stderr
    assert "usage" in _run("-m", "ottla.compat").stderr
