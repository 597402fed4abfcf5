"""Counts the instructions of each scenario, and compares them with those in ``counts.json``.

    python -m benches.instructions [NAME ...]             compare; fails beyond 3 %
    python -m benches.instructions --write [NAME ...]     keep the counts

A count that is lower by more than 3 % also fails: write it, so that the gain is kept.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.instructions import callgrind

COUNTS = Path(__file__).with_name("counts.json")
TOLERANCE = 0.03


@dataclass(frozen=True)
class Scenario:
    """A scenario: its language, its rounds in both runs, and the operations of a round."""

    language: str
    few: int
    many: int
    operations: int

    def count(self, name: str) -> float:
        """Return the instructions of an operation."""
        command = callgrind.rust(name) if self.language == "rust" else callgrind.python(name)
        return callgrind.per_round(command, self.few, self.many) / self.operations


# 256 KiB of values in a round.
_SMALL, _LARGE = (256 << 10) // 100, (256 << 10) // 1000
SCENARIOS = {
    "decode-7-columns-100": Scenario("rust", 2, 12, _SMALL),
    "decode-7-columns-1000": Scenario("rust", 2, 12, _LARGE),
    "decode-value-100": Scenario("rust", 2, 12, _SMALL),
    "encode-100": Scenario("rust", 2, 12, _SMALL),
    "encode-1000": Scenario("rust", 2, 12, _LARGE),
    "encode-columns-100": Scenario("rust", 2, 12, _SMALL),
    "look-up": Scenario("rust", 2, 12, 1_000),
    "send": Scenario("python", 5, 15, 2_000),
    "send-callback": Scenario("python", 5, 15, 2_000),
    "send-await": Scenario("python", 5, 15, 2_000),
    "send-list": Scenario("python", 5, 15, 2_000),
    "send-arrow": Scenario("python", 5, 15, 20_000),
    "poll": Scenario("python", 5, 15, 2_000),
    "iterate": Scenario("python", 5, 15, 2_000),
    "iterate-async": Scenario("python", 5, 15, 2_000),
    "poll-arrow": Scenario("python", 5, 15, 2_000),
}


def main() -> int:
    """Count, and write or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="keep the counts")
    parser.add_argument("names", nargs="*", choices=[*SCENARIOS, []], metavar="NAME")
    arguments = parser.parse_args()
    file: dict[str, Any] = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    kept: dict[str, float] = file.get("counts", {})
    failed = []
    for name in arguments.names or SCENARIOS:
        count = SCENARIOS[name].count(name)
        before = kept.get(name)
        change = f"{count / before - 1:+.1%}" if before else "new"
        print(f"{name:24} {count:12,.1f} instructions an operation, {change}", flush=True)
        if before is None or abs(count / before - 1) > TOLERANCE:
            failed.append(name)
        kept[name] = round(count, 1)
    if arguments.write:
        written = {"made_with": _compilers(), "counts": kept}
        COUNTS.write_text(json.dumps(written, indent=2) + "\n")
    elif failed:
        print(f"beyond {TOLERANCE:.0%}: {', '.join(failed)}; keep a wanted change with --write")
        if file.get("made_with") != _compilers():
            print(
                f"the kept counts were made with {file.get('made_with')}, these with {_compilers()}"
            )
        return 1
    return 0


def _compilers() -> dict[str, str]:
    """Return the versions that decide what is counted."""
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    return {"rustc": rustc.stdout.strip(), "python": platform.python_version()}


if __name__ == "__main__":
    raise SystemExit(main())
