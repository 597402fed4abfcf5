"""Runs Python programs in child processes, for tests of signals, exits and forks.

Invariant: no child outlives its test.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import dataclass

from tests.support.jars import REPOSITORY

_PRELUDE = """
import os, signal, sys, threading, time, warnings
# Python 3.12 warns of each fork in a process with threads, as of ottla's.
warnings.filterwarnings("ignore", message=".*use of fork", category=DeprecationWarning)
# Background processes ignore SIGINT, and their children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
import ottla
from ottla.testing import Fault, MockCluster
def say(*values): print(*values, flush=True)
"""


@dataclass
class ChildResult:
    """The exit code, output and duration of a child."""

    code: int
    output: str
    seconds: float
    """Since its start, or since the interrupt if there was one."""


def run_child(program: str, timeout: float = 120) -> ChildResult:
    """Run a program to its end; a timeout fails the test and shows the output so far."""
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", _PRELUDE + textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=REPOSITORY,
        text=True,
        timeout=timeout,
        check=False,
    )
    return ChildResult(done.returncode, done.stdout, time.monotonic() - started)


def interrupt_child(
    program: str, ready: str = "waiting", delay: float = 0.4
) -> tuple[ChildResult, float]:
    """Run a program and interrupt it `delay` seconds after it printed `ready`.

    Returns:
        The result, and the seconds from the interrupt to the next line of output.
    """
    child = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-c", _PRELUDE + textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=REPOSITORY,
        text=True,
    )
    assert child.stdout is not None
    with child, child.stdout:
        printed = ""
        try:
            while ready not in printed:
                line = child.stdout.readline()
                printed += line
                assert line, f"the child ended before it printed {ready!r}:\n{printed}"
            time.sleep(delay)
            interrupted_at = time.monotonic()
            os.kill(child.pid, signal.SIGINT)
            # The child prints a line when its wait ends: the shutdown of Python is not measured.
            line = child.stdout.readline()
            reacted = time.monotonic() - interrupted_at
            killer = threading.Timer(60, child.kill)
            killer.start()
            rest = child.stdout.read()
            code = child.wait()
            killer.cancel()
            return ChildResult(
                code, printed + line + rest, time.monotonic() - interrupted_at
            ), reacted
        except BaseException:
            child.kill()
            raise


def assert_interruptible(program: str, within: float, code: int | None = None) -> list[ChildResult]:
    """Assert that a program prints `interrupted` within some seconds of an interrupt.

    The fastest of up to five runs counts, since CI machines pause for seconds; every run must end
    with the expected output and exit code.

    Args:
        program: the program, which prints `waiting`, and `interrupted` after the interrupt.
        within: the limit in seconds.
        code: the expected exit code. Default: any.
    """
    ended: list[ChildResult] = []
    times: list[float] = []
    while not times or min(times) >= within:
        assert len(times) < 5, f"reactions of {times} s, none below {within} s"
        child, reacted = interrupt_child(program)
        assert child.output.endswith("interrupted\n"), child.output
        assert code in (None, child.code)
        times.append(reacted)
        ended.append(child)
    print(f"Ctrl-C: {min(times) * 1000:.0f} ms")
    return ended
