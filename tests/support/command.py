"""The real command line in a process of its own: `python -m ottla …`, always ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tests.support.jars import REPOSITORY

_DEFAULT_SIGINT = (
    "import signal, sys\n"
    # What runs in the background has it ignored, and hands that down.
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from ottla.cli import main\n"
    "sys.exit(main())"
)


@dataclass
class Ended:
    """How a command ended, and what it printed."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """What it printed, as text."""
        return self.out.decode()


def ottla(
    *arguments: str, stdin: bytes = b"", timeout: float = 150, env: Mapping[str, str] | None = None
) -> Ended:
    """Run a command to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "ottla", *arguments],
        input=stdin,
        capture_output=True,
        cwd=REPOSITORY,
        timeout=timeout,
        check=False,
        env={**os.environ, **(env or {})},
    )
    return Ended(done.returncode, done.stdout, done.stderr.decode())


@contextmanager
def running(*arguments: str, timeout: float = 150) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command beside the test; one that does not end is killed, and fails the test."""
    process = subprocess.Popen(
        [sys.executable, "-c", _DEFAULT_SIGINT, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=REPOSITORY,
        # What a reader holds back in a buffer, `select` would not tell of.
        bufsize=0,
    )
    killer = threading.Timer(timeout, process.kill)
    killer.start()
    try:
        with process:
            yield process
            if process.poll() is None:
                process.wait(timeout)
    finally:
        killer.cancel()
        if process.poll() is None:
            process.kill()
    assert process.returncode != -signal.SIGKILL, "the command did not end"
