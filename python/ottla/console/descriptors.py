"""The number of file descriptors that the limit of this process leaves free.

Invariant: counting them takes at most a twentieth of a core, however many there are.
"""

from __future__ import annotations

import os
import sys
import time

if sys.platform != "win32":
    import resource

# The directories that list a process's descriptors: Linux's, then that of macOS and the BSDs.
_DIRECTORIES = ("/proc/self/fd", "/dev/fd")
# A count is reused for this many seconds, or for this many times as long as counting took.
_SHORTEST, _PAUSE = 0.1, 20


def limit() -> int | None:
    """Return how many descriptors this process may have open; None without a limit."""
    if sys.platform == "win32":
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


class Headroom:
    """The number of free descriptors, counted from time to time."""

    def __init__(self) -> None:
        self._free: int | None = None
        self._until = 0.0

    def free(self) -> int | None:
        """Return how many are free, or None if there is no limit or they cannot be counted."""
        started = time.monotonic()
        if started >= self._until:
            self._free = _count()
            now = time.monotonic()
            self._until = now + max(_SHORTEST, _PAUSE * (now - started))
        return self._free

    def take(self) -> None:
        """Record that a descriptor was taken since the last count."""
        if self._free is not None:
            self._free -= 1


def _count() -> int | None:
    most = limit()
    if most is None:
        return None
    for directory in _DIRECTORIES:
        try:
            # One entry is the descriptor of the open directory itself.
            return most - len(os.listdir(directory)) + 1  # noqa: PTH208 - the fastest way
        except FileNotFoundError:
            continue
        except OSError:  # no descriptor is left to open the directory
            return 0
    return None
