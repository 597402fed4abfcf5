"""Runs each client in its own process, in turns: shared by the benchmarks of this folder.

Invariant: a failed run ends the benchmark with the process's standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from benches.peers import go_program
from tests.support.jars import REPOSITORY, jar_directory, java

T = TypeVar("T")

TIMEOUT_SECONDS = 600


def argument_parser(description: str | None, results: Path) -> argparse.ArgumentParser:
    """Return a parser with the common options; it shows the description's first line."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--json", type=Path, default=results, help="where the figures go")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser


def parse_names(text: str) -> list[str]:
    """Parse an option's comma-separated names."""
    return text.split(",")


def parse_numbers(text: str) -> list[int]:
    """Parse an option's comma-separated numbers."""
    return [int(number) for number in text.split(",")]


def rotated(clients: Sequence[T], turn: int) -> list[T]:
    """Rotate the order by round, so that no client always follows the same one."""
    first = turn % len(clients)
    return [*clients[first:], *clients[:first]]


def run_python(bench: str, arguments: object, *, first_on_path: str | None = None) -> Any:
    """Run `python -m BENCH --child ARGUMENTS`; return its last line of output, from JSON.

    `first_on_path` is where it looks for modules first.
    """
    command = [sys.executable, "-m", bench, "--child", json.dumps(arguments)]
    # NumPy, which pyarrow imports, starts threads that would spin for a while.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    if first_on_path is not None:
        environment["PYTHONPATH"] = os.pathsep.join([first_on_path, str(REPOSITORY)])
    return _last_line(command, environment)


def run_java(source: str, arguments: Sequence[object]) -> Any:
    """Run a Java source file of this folder; return its last line of output, from JSON."""
    file = REPOSITORY / "benches" / "peers" / source
    command = [java(), "-cp", f"{jar_directory('brokers')}/*", str(file), *map(str, arguments)]
    return _last_line(command, dict(os.environ))


def run_go(arguments: Sequence[object]) -> Any:
    """Run the Go program with these arguments; return its last line of output, from JSON."""
    return _last_line([str(go_program.program()), *map(str, arguments)], dict(os.environ))


@dataclass(frozen=True)
class Programs:
    """The program of each client for one benchmark."""

    java: str
    go: str
    python: str


def run_client(
    programs: Programs,
    client: str,
    call: str,
    arguments: Sequence[object],
    more: Sequence[object] = (),
) -> Any:
    """Run a client's program; return its last line of output, from JSON.

    Only Python programs get the arguments in `more`.
    """
    if client == "Java":
        return run_java(programs.java, arguments)
    if client == "franz-go":
        return run_go([programs.go, *arguments])
    return run_python(programs.python, [client, call, *arguments, *more])


def _last_line(command: list[str], environment: dict[str, str]) -> Any:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
        env=environment,
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def log_progress(progress: str) -> None:
    """Print progress to standard error."""
    print(f"  {progress}", file=sys.stderr, flush=True)


def save_json(path: Path, results: object) -> None:
    """Write the figures as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2) + "\n")
