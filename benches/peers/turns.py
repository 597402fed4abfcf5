"""Clients take turns, each run in a process of its own: what the benches beside this file share.

Invariant: a run that fails ends the bench with what it said on standard error.
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


def parser(description: str | None, results: Path) -> argparse.ArgumentParser:
    """The options that each bench has; of its description the first line is shown."""
    made = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    made.add_argument("--json", type=Path, default=results, help="where the figures go")
    made.add_argument("--rounds", type=int, default=5)
    made.add_argument("--child", help=argparse.SUPPRESS)
    return made


def names(text: str) -> list[str]:
    """Parse an option's comma-separated names."""
    return text.split(",")


def numbers(text: str) -> list[int]:
    """Parse an option's comma-separated numbers."""
    return [int(number) for number in text.split(",")]


def in_turn(clients: Sequence[T], turn: int) -> list[T]:
    """Each begins a round once, so that nobody always follows the same."""
    first = turn % len(clients)
    return [*clients[first:], *clients[:first]]


def in_python(bench: str, order: object) -> Any:
    """What `python -m BENCH --child ORDER` prints last, in JSON."""
    command = [sys.executable, "-m", bench, "--child", json.dumps(order)]
    # NumPy comes with pyarrow, and its threads would spin for a while after import.
    return _last_line(command, {**os.environ, "OPENBLAS_NUM_THREADS": "1"})


def in_java(source: str, order: Sequence[object]) -> Any:
    """What a source file of this folder prints last, in JSON."""
    file = REPOSITORY / "benches" / "peers" / source
    command = [java(), "-cp", f"{jar_directory('brokers')}/*", str(file), *map(str, order)]
    return _last_line(command, dict(os.environ))


def in_go(order: Sequence[object]) -> Any:
    """Run the Go program with these arguments; return its last line of output, from JSON."""
    return _last_line([str(go_program.program()), *map(str, order)], dict(os.environ))


@dataclass(frozen=True)
class Programs:
    """Where each client's part of a bench is."""

    java: str
    go: str
    python: str


def in_client(
    programs: Programs, client: str, call: str, order: Sequence[object], more: Sequence[object] = ()
) -> Any:
    """What a client's program prints last, in JSON; `more` of the order is for Python alone."""
    if client == "Java":
        return in_java(programs.java, order)
    if client == "franz-go":
        return in_go([programs.go, *order])
    return in_python(programs.python, [client, call, *order, *more])


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


def tell(progress: str) -> None:
    """Say how far it has come, beside what the bench is to say."""
    print(f"  {progress}", file=sys.stderr, flush=True)


def save(path: Path, results: object) -> None:
    """Keep the figures."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2) + "\n")
