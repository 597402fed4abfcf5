"""The tier of Rust's tests: one program a crate, then each test that failed once more, alone.

python -m tests.gate.cargo_tier TIER [ARGUMENT OF CARGO TEST ...] [-- ARGUMENT OF EACH PROGRAM ...]
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.gate.flaky import Failure, settle
from tests.gate.machine import Machine

FAILED = re.compile(r"^test (\S+) (?:- should panic )?\.\.\. FAILED$", re.MULTILINE)
"""The line in which a program of tests names one that failed."""

# Tests mostly wait, so that more of them than there are processors share the time.
_THREADS = "6"


@dataclass(frozen=True)
class Program:
    """A compiled program of tests, and the directory in which cargo would start it."""

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
    with Machine() as machine:
        for program in programs:
            ended, failed = _run(program, own)
            failures += failed
            if ended != 0 and not failed:
                # It did not get so far as to name a test that failed.
                print(f"{tier}: {program.name} ended with {ended}", flush=True)
                status = 1
        by_name = {program.name: program for program in programs}

        def alone(test: str) -> bool:
            name, _, path = test.partition(": ")
            return _run(by_name[name], ["--exact", path, *own])[0] == 0

        if failures and not settle(tier, failures, machine, alone):
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


def _run(program: Program, arguments: Sequence[str]) -> tuple[int, list[Failure]]:
    """Run a program and print what it prints; return its exit status and what failed."""
    print(f"\n{program.name}", flush=True)
    started = time.time()
    process = subprocess.Popen(
        [program.executable, *arguments],
        cwd=program.directory,
        env={"RUST_TEST_THREADS": _THREADS, **os.environ},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    failed = []
    for line in process.stdout:
        if found := FAILED.match(line):
            failed.append(found[1])
        if not line.endswith("... ok\n"):
            print(line, end="", flush=True)
    status = process.wait()
    ended = time.time()
    return status, [Failure(f"{program.name}: {test}", started, ended) for test in failed]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
