"""The tier of Rust tests: each program, the slowest tests and modules, each failed test again.

python -m tests.gate.cargo_tier TIER [ARGUMENT OF CARGO TEST ...] [-- ARGUMENT OF EACH PROGRAM ...]
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.gate.flaky import Failure, rerun_failures
from tests.gate.machine import MachineMonitor
from tests.gate.times import LARGEST, Total, lines

FAILED = re.compile(r"^test (\S+) (?:- should panic )?\.\.\. FAILED(?: <.*>)?$", re.MULTILINE)
"""The line in which a test program names a failed test."""

_TIMED = re.compile(r"^test (\S+) (?:- should panic )?\.\.\. \w+ <([\d.]+)s>$")
_PASSED = re.compile(r"^test .*\.\.\. ok(?: <.*>)?$")
_SLOWEST = 20

_SLOW = re.compile(r"^test (\S+) has been running for over \d+ seconds$", re.MULTILINE)
_STUCK_SECONDS = 240.0
"""A program without output for this long hangs: a busy task stops tokio's paused clock."""

# The exit status of a program that ran all tests, some of which failed.
_TESTS_FAILED = 101

# Tests mostly wait, so more of them than processors run at once.
_THREADS = "6"

# A stable Rust prints the times of tests only if told that its unstable options are wanted.
_TIMES = ["-Zunstable-options", "--report-time"]
_UNSTABLE = {"RUSTC_BOOTSTRAP": "1"}


@dataclass(frozen=True)
class Program:
    """A compiled test program, and the directory in which cargo starts it."""

    executable: str
    directory: Path
    name: str


def main(tier: str, arguments: Sequence[str]) -> int:
    """Build the programs, run each, and return an exit status."""
    split = list(arguments).index("--") if "--" in arguments else len(arguments)
    cargo, own = arguments[:split], arguments[split + 1 :]
    programs = _build(cargo)
    if programs is None:
        return 1
    status, failures = 0, []
    times: dict[str, float] = {}
    with MachineMonitor() as machine:
        for program in programs:
            ended, failed = _run(program, own, times)
            failures += failed
            if ended not in (0, _TESTS_FAILED) or (ended and not failed):
                # It ended before it named all failed tests.
                print(f"{tier}: {program.name} ended with {ended}", flush=True)
                status = 1
        by_name = {program.name: program for program in programs}

        def alone(test: str) -> bool:
            name, _, path = test.partition(": ")
            return _run(by_name[name], ["--exact", path, *own], {})[0] == 0

        _print_slowest(times)
        if failures and not rerun_failures(tier, failures, machine, alone):
            status = 1
    return status


def _build(arguments: Sequence[str]) -> list[Program] | None:
    command = ["cargo", "test", "--no-run", "--message-format=json-render-diagnostics", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        return None
    programs = []
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("profile", {}).get("test") and message.get("executable"):
            crate = Path(message["manifest_path"]).parent
            name = f"{crate.name}/{message['target']['name']}"
            programs.append(Program(message["executable"], crate, name))
    return programs


def _print_slowest(times: Mapping[str, float]) -> None:
    slowest = sorted(times.items(), key=lambda item: -item[1])[:_SLOWEST]
    print(f"\nslowest {len(slowest)} tests", flush=True)
    for test, seconds in slowest:
        print(f"{seconds:7.2f}s {test}", flush=True)
    totals: dict[str, Total] = {}
    for test, seconds in times.items():
        # A module is a file.
        module = test.rpartition("::")[0] or test.partition(": ")[0]
        totals[module] = totals.get(module, Total()).plus(Total(1, seconds))
    print(f"\nlargest {LARGEST} modules", flush=True)
    print("\n".join(lines(totals)), flush=True)


def _run(
    program: Program, arguments: Sequence[str], times: dict[str, float]
) -> tuple[int, list[Failure]]:
    """Run a program and print its output; return its exit status and its failed tests.

    Args:
        program: the program.
        arguments: its arguments.
        times: gets the seconds of each test.
    """
    print(f"\n{program.name}", flush=True)
    started = time.time()
    process = subprocess.Popen(
        [program.executable, *_TIMES, *arguments],
        cwd=program.directory,
        env={"RUST_TEST_THREADS": _THREADS, **os.environ, **_UNSTABLE},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    failed: list[str] = []
    slow: list[str] = []
    stuck = _kill_later(process)
    for line in process.stdout:
        stuck.cancel()
        if found := FAILED.match(line):
            failed.append(found[1])
        if found := _SLOW.match(line):
            slow.append(found[1])
        elif line.startswith("test "):
            slow = [test for test in slow if not line.startswith(f"test {test} ")]
        if timed := _TIMED.match(line):
            times[f"{program.name}: {timed[1]}"] = float(timed[2])
        if not _PASSED.match(line):
            print(line, end="", flush=True)
        stuck = _kill_later(process)
    stuck.cancel()
    process.stdout.close()
    status = process.wait()
    ended = time.time()
    if status == -signal.SIGKILL and slow:
        unfinished = ", ".join(slow)
        print(f"killed: no output for {_STUCK_SECONDS:g} s; unfinished: {unfinished}", flush=True)
        failed += slow
        status = _TESTS_FAILED
    return status, [Failure(f"{program.name}: {test}", started, ended) for test in failed]


def _kill_later(process: subprocess.Popen[str]) -> threading.Timer:
    timer = threading.Timer(_STUCK_SECONDS, process.kill)
    timer.daemon = True
    timer.start()
    return timer


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
