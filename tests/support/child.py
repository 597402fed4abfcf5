"""Python programs in processes of their own, always ended: for signals, exits and forks."""

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
import os, signal, sys, threading, time
# What runs in the background has it ignored, and hands that down.
signal.signal(signal.SIGINT, signal.default_int_handler)
import ottla
from ottla.testing import Fault, MockCluster
def say(*words): print(*words, flush=True)
"""


@dataclass
class Ended:
    """How a child ended, and what it said."""

    code: int
    output: str
    seconds: float


def run_child(program: str, timeout: float = 30) -> Ended:
    """Run a program to its end; one that hangs fails the test with what it said until then."""
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
    return Ended(done.returncode, done.stdout, time.monotonic() - started)


def interrupt_child(
    program: str, ready: str = "waiting", delay: float = 0.4
) -> tuple[Ended, float]:
    """Run a program, press Ctrl-C a while after it said `ready`; also the seconds it then took."""
    child = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-c", _PRELUDE + textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=REPOSITORY,
        text=True,
    )
    assert child.stdout is not None
    with child, child.stdout:
        said = ""
        started = time.monotonic()
        try:
            while ready not in said:
                line = child.stdout.readline()
                said += line
                assert line, f"the child ended before it waited:\n{said}"
            time.sleep(delay)
            pressed = time.monotonic()
            os.kill(child.pid, signal.SIGINT)
            # The child tells when its wait ended: the end of Python is not what is measured.
            line = child.stdout.readline()
            reacted = time.monotonic() - pressed
            killer = threading.Timer(20, child.kill)
            killer.start()
            rest = child.stdout.read()
            code = child.wait()
            killer.cancel()
            return Ended(code, said + line + rest, time.monotonic() - started), reacted
        except BaseException:
            child.kill()
            raise
