"""A program in a Python process of its own: what it prints, and that it ends as it should."""

from __future__ import annotations

import subprocess
import sys


def run_python(program: str, *, code: int = 0, timeout: float = 60) -> str:
    """Run a program, check its exit code, and return what it printed, errors included."""
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
