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
    started = int(process.read_text())

    def is_gone() -> bool:
        try:
            state = Path(f"/proc/{started}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        # What adopted it may not have noticed its end.
        return state == "Z"

    wait_until(is_gone)
