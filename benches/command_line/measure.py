"""Runs a command as a user would, from start to end of its process."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

LIMIT = 30.0


@dataclass(frozen=True)
class Outcome:
    """What a command did: its text, output, exit code (None: it did not end) and seconds."""

    command: str
    output: str
    code: int | None
    seconds: float

    @property
    def keystrokes(self) -> int:
        """The characters of the command, with Enter after each line."""
        return len(self.command) + 1


def run(command: str, environment: Mapping[str, str], limit: float = LIMIT) -> Outcome:
    """Run a shell command; kill it, with its children, at the limit."""
    started = time.monotonic()
    process = subprocess.Popen(
        ["bash", "-c", command],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        # As a terminal shows it: in order.
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
        code: int | None = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        code = None
    return Outcome(command, output, code, time.monotonic() - started)


def median(
    command: Callable[[], str], environment: Mapping[str, str], rounds: int, limit: float = LIMIT
) -> Outcome:
    """Run a command several times; return the last outcome, with the median of the seconds."""
    outcomes = [run(command(), environment, limit) for _ in range(rounds)]
    last = outcomes[-1]
    seconds = statistics.median(each.seconds for each in outcomes)
    return Outcome(last.command, last.output, last.code, seconds)
