"""Runs a program in a new Python process, and checks its exit code."""

from __future__ import annotations

import subprocess
import sys


def run_python(program: str, *, code: int = 0, timeout: float = 60) -> str:
    """Run a program, check its exit code, and return its output, standard error included."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == code, done.stdout
    return done.stdout
