"""Runs a command and pauses its processes at random, as on a machine with a busy host.

    python -m tests.gate.pauses [--runs N] [--longest SECONDS] [--seed N] -- make test-python

Every few seconds, one or all of the command's processes get SIGSTOP and, up to `--longest` seconds
later, SIGCONT. Prints the exit status of each run; exits with 1 if any of them is not 0.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

_BETWEEN = (1.0, 10.0)


def descendants(root: int) -> list[int]:
    """Return the ids of all descendants of a process."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                # The state and the parent follow the name, which may contain anything.
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found, left = [], [root]
    while left:
        for child in children.get(left.pop(), []):
            found.append(child)
            left.append(child)
    return found


def send(number: signal.Signals, processes: list[int]) -> None:
    """Send a signal to processes, some of which may have ended."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def pause_at_random(root: int, longest: float, rng: random.Random, done: threading.Event) -> None:
    """Pause descendants of `root` at random until `done` is set."""
    while not done.wait(rng.uniform(*_BETWEEN)):
        processes = descendants(root)
        if processes and rng.random() < 0.5:
            processes = [rng.choice(processes)]
        send(signal.SIGSTOP, processes)
        time.sleep(rng.uniform(0, longest))
        send(signal.SIGCONT, processes)


def run(command: list[str], longest: float, seed: int) -> int:
    """Run the command once; return its exit status."""
    done = threading.Event()
    with subprocess.Popen(command) as process:
        pausing = threading.Thread(
            target=pause_at_random, args=(process.pid, longest, random.Random(seed), done)
        )
        pausing.start()
        try:
            return process.wait()
        finally:
            done.set()
            pausing.join()


def main() -> int:
    """Run the command `--runs` times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--longest", type=float, default=2.0, help="seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    statuses = []
    for number in range(arguments.runs):
        started = time.monotonic()
        statuses.append(run(arguments.command, arguments.longest, arguments.seed + number))
        seconds = time.monotonic() - started
        print(f"run {number + 1}: exit {statuses[-1]} after {seconds:.0f} s", flush=True)
    return int(any(statuses))


if __name__ == "__main__":
    sys.exit(main())
