"""Counts instructions with callgrind.

Invariant: what a process does besides its rounds, such as starting, cancels out: a count is the
difference of a longer run and a shorter one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
_TOTALS = re.compile(r"^(?:totals|summary): (\d+)", re.MULTILINE)


def per_round(command: Sequence[str], few: int, many: int) -> float:
    """Return the instructions of one round in the process's first thread.

    Args:
        command: the command, which takes the number of rounds as its last argument.
        few: the rounds of the shorter run.
        many: the rounds of the longer one.
    """
    return (_count([*command, str(many)]) - _count([*command, str(few)])) / (many - few)


def rust(name: str) -> list[str]:
    """Return the command of a scenario of benches/benches/instructions.rs."""
    return [_executable(), name]


def python(name: str) -> list[str]:
    """Return the command of a scenario of ``python_calls``."""
    return [sys.executable, "-m", "benches.instructions.python_calls", name]


def _count(command: Sequence[str]) -> int:
    if shutil.which("valgrind") is None:
        raise SystemExit("valgrind is missing: on Debian and Ubuntu 'apt install valgrind'")
    # Hashes decide how often a dictionary's keys collide; threads of OpenBLAS spin.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "callgrind.out"
        options = [f"--callgrind-out-file={out}", "--separate-threads=yes", "--quiet"]
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", *options, *command],
            cwd=REPOSITORY,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-4000:]}")
        text = out.with_name(f"{out.name}-01").read_text()
    found = _TOTALS.search(text)
    if found is None:
        raise SystemExit(f"callgrind wrote no total for {' '.join(command)}")
    return int(found[1])


@cache
def _executable() -> str:
    """Build the Rust scenarios, and return their executable."""
    build = ["cargo", "bench", "--locked", "-p", "ottla-benches", "--bench", "instructions"]
    done = subprocess.run(
        [*build, "--no-run", "--message-format=json"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = [message["executable"] for message in messages if message.get("executable")]
    return str(found[-1])
