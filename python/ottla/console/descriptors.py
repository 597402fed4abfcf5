"""The descriptors of this process: how many its limit leaves free.

Invariant: counting them takes a twentieth of a core at most, however many there are.
"""

from __future__ import annotations

import os
import sys
import time

if sys.platform != "win32":
    import resource

# The directories that list a process's descriptors: Linux's, then that of macOS and the BSDs.
_DIRECTORIES = ("/proc/self/fd", "/dev/fd")
# Seconds for which a count is used again, and as many times the time that it took.
_SHORTEST, _PAUSE = 0.1, 20


def limit() -> int | None:
    """Return how many descriptors this process may have open; None without a limit."""
    if sys.platform == "win32":
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


class Headroom:
    """The descriptors that the limit leaves free, counted now and then."""

    def __init__(self) -> None:
        self._free: int | None = None
        self._until = 0.0

    def free(self) -> int | None:
        """Return how many are free; None if there is no limit, or no list of them."""
        started = time.monotonic()
        if started >= self._until:
            self._free = _count()
            now = time.monotonic()
            self._until = now + max(_SHORTEST, _PAUSE * (now - started))
        return self._free

    def take(self) -> None:
        """Note that one was taken since they were counted."""
        if self._free is not None:
            self._free -= 1


def _count() -> int | None:
    most = limit()
    if most is None:
        return None
    for directory in _DIRECTORIES:
        try:
            # One of them is the directory's own.
            return most - len(os.listdir(directory)) + 1  # noqa: PTH208 - the fastest way
        except FileNotFoundError:
            continue
        except OSError:  # there is none left to open the directory
            return 0
    return None
