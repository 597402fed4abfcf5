"""Runs the command line on a pseudo-terminal: `python -m ottla …`, with the view that it draws.

Invariant: no command outlives its test.
"""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TIMEOUT = 60.0


class Terminal:
    """A command on a pseudo-terminal, and what it has shown."""

    def __init__(self, *arguments: str, lines: int = 50) -> None:
        self._ours, theirs = pty.openpty()
        size = {"COLUMNS": "160", "LINES": str(lines)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ottla", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, **size, "TERM": "xterm", "NO_COLOR": "1"},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        os.close(theirs)
        self.shown = ""

    def wait_for(self, *texts: str, act: Callable[[], None] = lambda: None) -> str:
        """Wait until one drawing has all texts, and return it."""
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            # The last one may be incomplete.
            for drawing in self.shown.split("\x1b[H")[:-1]:
                if all(text in drawing for text in texts):
                    return drawing.replace("\r", "")
            self.shown = self.shown[-100_000:]
            act()
            self._read(0.3)
        raise AssertionError(f"{texts} were not shown: {self.shown[-4000:]}")

    def end(self) -> tuple[int, str]:
        """Wait for the end of the process; return its code, and what it has shown at last."""
        with contextlib.suppress(OSError):
            while self._read(TIMEOUT):
                pass
        return self.process.wait(TIMEOUT), self.shown.replace("\r", "")

    def interrupt(self) -> tuple[int, float]:
        """Press Ctrl-C; return the exit code, and the seconds until the end."""
        started = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        return self.end()[0], time.monotonic() - started

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        more = os.read(self._ours, 1 << 16)
        self.shown += more.decode(errors="replace")
        return bool(more)


@contextmanager
def terminal(*arguments: str, lines: int = 50) -> Iterator[Terminal]:
    """A command on a pseudo-terminal during the block."""
    shown = Terminal(*arguments, lines=lines)
    try:
        yield shown
    finally:
        shown.close()
