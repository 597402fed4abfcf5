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
    """From its start; with an interrupt, from that."""


def run_child(program: str, timeout: float = 120) -> Ended:
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
            killer = threading.Timer(60, child.kill)
            killer.start()
            rest = child.stdout.read()
            code = child.wait()
            killer.cancel()
            return Ended(code, said + line + rest, time.monotonic() - pressed), reacted
        except BaseException:
            child.kill()
            raise


def quickest_reaction(program: str, within: float, code: int | None = None) -> list[Ended]:
    """Interrupt a program that says `interrupted` then; fail if it never does so in that time.

    The quickest of some children counts, for a machine may stand still during any of them; how
    they end holds for all.
    """
    ended: list[Ended] = []
    times: list[float] = []
    while not times or min(times) >= within:
        assert len(times) < 5, f"{times} seconds, not one below {within}"
        child, reacted = interrupt_child(program)
        assert child.output.endswith("interrupted\n"), child.output
        assert code in (None, child.code)
        times.append(reacted)
        ended.append(child)
    print(f"Ctrl-C: {min(times) * 1000:.0f} ms")
    return ended
