"""Samples of processes: anonymous memory, descriptors and threads, as Linux counts them.

Anonymous memory is what a process allocated; files that it maps, such as its libraries, do not
count. Neither do threads of two pools of Spark's JVM, which Spark fills up to its own limits.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
# Of the driver's block manager, which has up to 228 of them; Linux keeps 15 characters of a name.
_SPARKS_POOLS = ("block-manager-s", "block-manager-a")


class Sample(NamedTuple):
    """What a process, or several, had at a moment."""

    seconds: float
    """Since the start of the run."""
    memory: float
    """Anonymous resident memory, MiB."""
    descriptors: int
    threads: int


def sample(pids: Iterable[int], seconds: float) -> Sample | None:
    """Return the sum of these processes; None if none of them exists."""
    found = [each for pid in pids if (each := _read(pid)) is not None]
    if not found:
        return None
    memory, descriptors, threads = (sum(column) for column in zip(*found, strict=True))
    return Sample(seconds, memory / 1024, int(descriptors), int(threads))


def _read(pid: int) -> tuple[int, int, int] | None:
    try:
        status = (_PROC / str(pid) / "status").read_text()
        descriptors = sum(1 for _ in (_PROC / str(pid) / "fd").iterdir())
        pooled = _pooled(pid) if status.startswith("Name:\tjava") else 0
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in status.splitlines())
    if "RssAnon" not in fields:  # it has ended, and nobody has asked for its code
        return None
    return int(fields["RssAnon"].split()[0]), descriptors, int(fields["Threads"]) - pooled


def _pooled(pid: int) -> int:
    names = []
    for task in (_PROC / str(pid) / "task").iterdir():
        with suppress(OSError):  # it has just ended
            names.append((task / "comm").read_text())
    return sum(name.startswith(_SPARKS_POOLS) for name in names)


def descendants(pid: int) -> dict[int, str]:
    """Return the names of the processes that a process started, and of those that these started."""
    parents: dict[int, tuple[int, str]] = {}
    for path in _PROC.glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().rpartition(")")
        except OSError:
            continue
        number, _, name = name.partition(" (")
        parents[int(number)] = int(rest.split()[1]), name
    found: dict[int, str] = {}
    wave = {pid}
    while wave:
        wave = {child for child, (parent, _) in parents.items() if parent in wave}
        found |= {child: parents[child][1] for child in wave}
    return found
