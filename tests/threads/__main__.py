"""Runs all hammers with many records.

    python -m tests.threads [RECORDS]

On a Python without a global lock, it fails if importing ottla has turned the lock on. Its last line
is `N passed, 0 failed`.
"""

from __future__ import annotations

import faulthandler
import sys
import sysconfig
import time

import ottla
from tests.threads.hammers import HAMMERS, run

# A hang is a failure, with the stacks of all threads.
_DEADLINE = 300.0


def lock_is_on() -> bool:
    """Return whether one thread runs Python at a time."""
    return getattr(sys, "_is_gil_enabled", lambda: True)()


def main() -> int:
    """Run all hammers; return 1 if the lock is on although this Python can do without."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    faulthandler.dump_traceback_later(_DEADLINE, exit=True)
    is_free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    print(f"Python {sys.version.split()[0]}, lock {'on' if lock_is_on() else 'off'}", flush=True)
    if is_free_threaded and lock_is_on():
        print(f"importing ottla {ottla.__version__} has turned the global lock on", flush=True)
        return 1
    # With a lock, threads alternate as often as they can.
    sys.setswitchinterval(1e-5)
    for hammer in HAMMERS:
        began = time.monotonic()
        run(hammer, count)
        print(f"  {hammer.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    print(f"{len(HAMMERS)} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
