"""Runs a command while its processes are stopped at random, as on a machine whose host is busy.

    python -m tests.gate.pauses [--runs N] [--longest SECONDS] [--seed N] -- make test-python

Every few seconds all processes that the command started, or one of them, get SIGSTOP and, up to
`--longest` seconds later, SIGCONT. Prints each run's exit status; exit status 1 if one is not 0.
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
    """Return the ids of all processes that a process started, directly or not."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                # After the name, which may hold anything, come the state and the parent.
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found, left = [], [root]
    while left:
        for child in children.get(left.pop(), []):
            found.append(child)
            left.append(child)
    return found


def send(number: signal.Signals, processes: list[int]) -> None:
    """Send a signal to processes, of which some may have ended."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def pause_at_random(
    root: int, longest: float, chance: random.Random, over: threading.Event
) -> None:
    """Stop processes below `root` until `over` is set."""
    while not over.wait(chance.uniform(*_BETWEEN)):
        processes = descendants(root)
        if processes and chance.random() < 0.5:
            processes = [chance.choice(processes)]
        send(signal.SIGSTOP, processes)
        time.sleep(chance.uniform(0, longest))
        send(signal.SIGCONT, processes)


def run(command: list[str], longest: float, seed: int) -> int:
    """Run the command once; return its exit status."""
    over = threading.Event()
    with subprocess.Popen(command) as process:
        pausing = threading.Thread(
            target=pause_at_random, args=(process.pid, longest, random.Random(seed), over)
        )
        pausing.start()
        try:
            return process.wait()
        finally:
            over.set()
            pausing.join()


def main() -> int:
    """Run the command as often as was asked for."""
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
