"""A tier of pytest: all its tests, the slowest of them and of files, each failed test again, alone.

python -m tests.gate.pytest_tier TIER [PYTEST_ARGUMENT ...]

Without arguments, it runs the tier's selection.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.gate import outcomes
from tests.gate.flaky import rerun_failures
from tests.gate.machine import MachineMonitor
from tests.gate.selections import SELECTIONS

_SOME_FAILED = 1
_SLOWEST = ["--durations=20", "--durations-min=1", "-p", "tests.gate.times"]


def main(tier: str, arguments: Sequence[str]) -> int:
    """Run the tier; return pytest's exit status, or 0 if all failed tests passed alone."""
    arguments = arguments or SELECTIONS[tier]
    with tempfile.TemporaryDirectory() as directory, MachineMonitor() as machine:
        file = Path(directory) / "failed.jsonl"
        status = _pytest([*_SLOWEST, *arguments], {outcomes.FILE: str(file)})
        failures = outcomes.read(file)
        if status != _SOME_FAILED:
            return status
        # A single test needs no workers of pytest-xdist.
        alone = without_workers(arguments)
        if failures and rerun_failures(tier, failures, machine, lambda test: _alone(alone, test)):
            return 0
        return status


def _alone(arguments: Sequence[str], test: str) -> bool:
    options = [argument for argument in arguments if not Path(argument.split("::")[0]).exists()]
    return _pytest([*options, test], {}) == 0


def without_workers(arguments: Sequence[str]) -> list[str]:
    """Return pytest's arguments for a run in one process."""
    return [a for a in arguments if not a.startswith(("--numprocesses=", "--dist="))]


def _pytest(arguments: Sequence[str], environment: dict[str, str]) -> int:
    command = [sys.executable, "-m", "pytest", "-p", "tests.gate.outcomes", *arguments]
    return subprocess.run(command, env={**os.environ, **environment}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
