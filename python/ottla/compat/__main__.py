"""``python -m ottla.compat NAME program.py [arguments]``: run a program on a stand-in.

``-m module`` in place of the program runs a module. Invariant: the program sees ``sys.argv`` and
``sys.path`` as if Python itself had started it.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from ottla.compat import install

USAGE = "usage: python -m ottla.compat NAME (program.py | -m module) [arguments]"


def main(arguments: list[str]) -> None:
    """Install a stand-in, and run a program with the remaining arguments."""
    if len(arguments) < 2 or (arguments[1] == "-m" and len(arguments) < 3):
        raise SystemExit(USAGE)
    try:
        install(arguments[0])  # type: ignore[arg-type]  # install checks the name
    except ValueError as error:
        raise SystemExit(f"{USAGE}\n{error}") from None
    if arguments[1] == "-m":
        sys.argv = arguments[2:]
        runpy.run_module(arguments[2], run_name="__main__", alter_sys=True)
        return
    program = arguments[1]
    sys.argv = arguments[1:]
    # Python puts the program's folder first; `-m` has put the working directory there.
    sys.path[0] = str(Path(program).resolve().parent)
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
