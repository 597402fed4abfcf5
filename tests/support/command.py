"""Runs the command line in a child process: `python -m ottla …`.

Invariant: no command outlives its test.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch

from ottla.cli import main
from tests.support.jars import REPOSITORY

_DEFAULT_SIGINT = (
    "import signal, sys\n"
    # Background processes ignore SIGINT, and their children inherit that.
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from ottla.cli import main\n"
    "sys.exit(main())"
)


@dataclass
class CommandResult:
    """The exit code and output of a command."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.out.decode()


def ottla(
    *arguments: str, stdin: bytes = b"", timeout: float = 150, env: Mapping[str, str] | None = None
) -> CommandResult:
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
    return CommandResult(done.returncode, done.stdout, done.stderr.decode())


def ottla_here(*arguments: str, stdin: bytes | None = None) -> CommandResult:
    """Run a command in this process, which takes a fifth of the time; by default with its stdin."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    given = sys.stdin if stdin is None else io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "stdin", given):
        try:
            code = main(arguments)
        except SystemExit as ended:
            # argparse's, for wrong arguments.
            code = int(ended.code or 0)
    out.flush()
    assert isinstance(out.buffer, io.BytesIO)
    return CommandResult(code, out.buffer.getvalue(), err.getvalue())


def without_waiting(text: str) -> str:
    """Return standard error without reports of waiting, which a busy machine causes."""
    return "".join(
        line
        for line in text.splitlines(keepends=True)
        if not line.startswith("ottla: waiting for ") and '"message": "waiting for ' not in line
    )


@contextmanager
def running_command(
    *arguments: str, timeout: float = 150, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command during the `with` block; a timeout kills it and fails the test."""
    process = subprocess.Popen(
        [sys.executable, "-c", _DEFAULT_SIGINT, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=REPOSITORY,
        env={**os.environ, **(env or {})},
        # Unbuffered: `select` does not see data in Python's buffers.
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
