"""Mutation tests: breaks ottla in one place at a time, and reports which tier detects it.

    python -m tests.gate.mutation [--list] [MUTATION ...]

Each mutation replaces a source text that occurs exactly once, in a copy of the checkout, and runs
the tiers in `TIERS` until one fails. The report is in `.ottla-build/mutation`. Exits with 1 if a
mutation passes every tier or no longer fits its source, or if a tier fails without a mutation.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.gate.mutations import MUTATIONS, Mutation

TIERS = ("unit", "test-rust", "test-python")
"""Tiers without brokers and Spark; `unit` is the part of `make check` that runs tests."""

_DIRECTORY = Path(".ottla-build/mutation").absolute()


def _source(mutation: Mutation) -> str:
    text = Path(mutation.file).read_text()
    if text.count(mutation.old) != 1:
        raise ValueError(f"{mutation.name}: its source must occur exactly once in {mutation.file}")
    return text


def _copy() -> Path:
    """Copy the checkout; the copy shares downloads, and has its own build directory."""
    copy = _DIRECTORY / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, files.split("\0")):
        # The check that all mutations fit would fail with each of them applied.
        if Path(name).is_file() and name != "tests/unit/test_mutations.py":
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(name, copy / name)
    (copy / ".ottla-build").mkdir()
    for shared in ("jars", "oracle", "oracle.stamp"):
        (copy / ".ottla-build" / shared).symlink_to(Path(".ottla-build").absolute() / shared)
    return copy


def _first_failing_tier(copy: Path, name: str) -> str | None:
    for tier in TIERS:
        log = _DIRECTORY / f"{name}.{tier}.log"
        with log.open("w") as output:
            done = subprocess.run(
                ["make", tier],
                cwd=copy,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode != 0:
            # A mutation that does not compile proves nothing.
            broken = "error: could not compile" in log.read_text()
            return "does not compile" if broken else tier
    return None


def main() -> int:
    """Apply the mutations and write the report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="print the names and check the sources")
    parser.add_argument("mutations", nargs="*", help="only these")
    arguments = parser.parse_args()
    selected = [m for m in MUTATIONS if not arguments.mutations or m.name in arguments.mutations]
    sources = {mutation: _source(mutation) for mutation in selected}
    if arguments.list:
        print("\n".join(mutation.name for mutation in selected))
        return 0
    copy = _copy()
    os.environ.pop("VIRTUAL_ENV", None)
    # If a tier fails without a mutation, every mutation would seem to be detected.
    if failing := _first_failing_tier(copy, "nothing"):
        print(f"without any mutation {failing} fails: see {_DIRECTORY}/nothing.{failing}.log")
        return 1
    rows: list[tuple[str, str, float]] = []
    for mutation, text in sources.items():
        target = copy / mutation.file
        target.write_text(text.replace(mutation.old, mutation.new))
        started = time.monotonic()
        detected_by = _first_failing_tier(copy, mutation.name) or "**none**"
        rows.append((mutation.name, detected_by, time.monotonic() - started))
        target.write_text(text)
        print(f"{mutation.name}: {detected_by}", flush=True)
        _write_report(rows)
    return int(any(detected_by not in TIERS for _, detected_by, _ in rows))


def _write_report(rows: Sequence[tuple[str, str, float]]) -> None:
    lines = ["| mutation | detected by | s |", "|---|---|---|"]
    lines += [f"| {name} | {detected_by} | {seconds:.0f} |" for name, detected_by, seconds in rows]
    (_DIRECTORY / "report.md").write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    sys.exit(main())
