"""All Python tests in two halves at once: heavy ones, of Spark and of faults, and light ones.

    python -m tests.support.halves

The light ones mostly wait, so that both halves take little more time than the longer one; and those
that kill brokers by the clock never run beside Spark. Each line says whose it is. The exit status
is that of a half that failed, if one did.
"""

from __future__ import annotations

import subprocess
import sys
import threading

_HEAVY = ["tests/spark", "tests/fault"]
_HALVES = {"heavy": _HEAVY, "light": [f"--ignore={directory}" for directory in _HEAVY]}


def main() -> int:
    colour = "yes" if sys.stdout.isatty() else "no"
    pytest = [sys.executable, "-m", "pytest", f"--color={colour}"]
    halves = {
        name: subprocess.Popen(
            [*pytest, *which], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for name, which in _HALVES.items()
    }
    for half in halves.items():
        threading.Thread(target=_print, args=half).start()
    try:
        ends = [half.wait() for half in halves.values()]
    except KeyboardInterrupt:
        # It has reached both, which tell how far they came, and stop their brokers.
        ends = [half.wait() for half in halves.values()]
    return next((end for end in ends if end), 0)


def _print(name: str, half: subprocess.Popen[str]) -> None:
    assert half.stdout is not None
    for line in half.stdout:
        print(f"{name} | {line}", end="", flush=True)


if __name__ == "__main__":
    sys.exit(main())
