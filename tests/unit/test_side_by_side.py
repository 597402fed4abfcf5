"""Commands of the gate that run at once: outputs stay whole, and the first failure ends all."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.jars import REPOSITORY
from tests.support.waiting import wait_until


def run(*commands: str) -> subprocess.CompletedProcess[str]:
    """Run the commands side by side."""
    program = str(REPOSITORY / "tools" / "side_by_side.sh")
    return subprocess.run(
        [program, *commands], capture_output=True, text=True, timeout=60, check=False
    )


def test_outputs_of_others_are_shown_when_they_end(tmp_path: Path) -> None:
    go, done = tmp_path / "go", tmp_path / "done"
    os.mkfifo(go)
    os.mkfifo(done)
    first = f"echo first begins; cat {go}; echo first ends; echo >{done}"
    other = f"echo other begins; echo >{go}; cat {done}; echo other ends"
    both = run(first, other)
    assert both.returncode == 0
    shown = both.stdout.split("\n")
    assert [line for line in shown if line] == [
        "first begins",
        "first ends",
        "other begins",
        "other ends",
    ]


def test_the_first_failure_ends_the_others(tmp_path: Path) -> None:
    process = tmp_path / "process"
    # Also what a command started.
    long = f"sleep 300 & echo $! >{process}; wait"
    failed = run(long, f"until [[ -s {process} ]]; do sleep 0.01; done; echo broken; exit 7")
    assert failed.returncode == 7
    assert failed.stdout.strip() == "broken"
    wait_until(lambda: is_gone(process))


def is_gone(file: Path) -> bool:
    """Whether the process whose id is in a file has ended."""
    try:
        status = Path("/proc", file.read_text().strip(), "stat").read_text()
    except OSError:
        return True
    # What adopted it may not have noticed its end.
    return status.rpartition(")")[2].split()[0] == "Z"


def test_a_command_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    left, other = tmp_path / "left", tmp_path / "other"
    # Without the pipes of this test, which would wait for them.
    sleep = "sleep 300 >/dev/null 2>&1"
    both = run(
        f"{sleep} & echo $! >{left}; until [[ -s {other} ]]; do sleep 0.01; done; exit 4",
        f"{sleep} & echo $! >{other}; wait",
    )
    assert both.returncode == 4
    wait_until(lambda: is_gone(left) and is_gone(other))
