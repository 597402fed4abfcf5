"""Runs the command line in a child process: `python -m ottla …`.

Invariants: no command outlives its test; what a test compares with standard error does not depend
on the load of the machine.
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
    """The exit code and output of a command.

    Attributes:
        code: the exit code.
        out: standard output.
        err: standard error without reports of waiting.
        waits: these reports, which a busy machine causes too.
    """

    code: int
    out: bytes
    err: str
    waits: str = ""

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
    return command_result(done.returncode, done.stdout, done.stderr.decode())


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
    return command_result(code, out.buffer.getvalue(), err.getvalue())


def command_result(code: int, out: bytes, errors: str) -> CommandResult:
    """Return the result of a command with this standard error, of which reports are apart."""
    lines = errors.splitlines(keepends=True)
    others = "".join(line for line in lines if not _is_wait(line))
    return CommandResult(code, out, others, "".join(filter(_is_wait, lines)))


def without_waiting(text: str) -> str:
    """Return standard error without reports of waiting, which a busy machine causes."""
    return command_result(0, b"", text).err


def _is_wait(line: str) -> bool:
    return line.startswith("ottla: waiting for ") or '"message": "waiting for ' in line


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
