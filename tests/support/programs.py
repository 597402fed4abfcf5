"""Programs in processes of their own, whose output is read while they run.

Invariants: nothing that a program started outlives it, since `kill` ends its whole process group;
every wait has a deadline, and a failure inside its `with` block shows the output.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

TIMEOUT = 120.0
_INTERVAL = 0.2


class Program:
    """A running program, whose standard error is part of its output."""

    def __init__(self, command: Sequence[str], directory: Path, env: Mapping[str, str]) -> None:
        self.command = list(command)
        self.output = ""
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env=dict(env),
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout:
            for line in self.process.stdout:
                self.output += line

    def wait_until(self, condition: Callable[[], object], timeout: float = TIMEOUT) -> None:
        """Wait until something holds that the program does; the test fails if the program ends."""
        deadline = time.monotonic() + timeout
        while True:
            ended = self.process.poll() is not None
            # The last thing that it did may be what the condition is about.
            if condition():
                return
            assert not ended, f"ended with {self.process.returncode}"
            assert time.monotonic() < deadline, "the condition did not hold within the deadline"
            # Conditions ask the broker, which works for the program at the same time.
            time.sleep(_INTERVAL)

    def end(self, *, code: int | None = 0, timeout: float = TIMEOUT) -> str:
        """Wait for its end, check the exit code unless it is None, and return the output."""
        try:
            ended = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"not ended after {timeout:.0f} s:\n{self}") from None
        self._reader.join(timeout)
        assert code in (None, ended), f"ended with {ended}:\n{self}"
        return self.output

    def stop(self, *, code: int | None = 0, timeout: float = TIMEOUT) -> str:
        """Send SIGTERM to the program, as a service manager does, and wait for its end."""
        self.process.send_signal(signal.SIGTERM)
        return self.end(code=code, timeout=timeout)

    def kill(self) -> None:
        """Send SIGKILL to the program and to all that it started."""
        # The group exists as long as one process of it does.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.end(code=None)

    def __str__(self) -> str:
        return f"$ {' '.join(self.command)}\n{self.output}"

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        if error is not None:
            # pytest shows it with the failure.
            print(self)
