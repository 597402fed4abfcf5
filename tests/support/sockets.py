"""The TCP connections of this process, from what the kernel tells of it."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

_ESTABLISHED = "01"


def established(remote_ports: Container[int]) -> list[tuple[int, int]]:
    """The local and remote ports of connections by IPv4 that are up."""
    mine = set()
    for fd in Path("/proc/self/fd").iterdir():
        try:
            mine.add(str(fd.readlink()))
        except FileNotFoundError:  # closed meanwhile
            continue
    # By inode: the kernel writes its list piece by piece, and what comes or goes meanwhile may have
    # it tell of one connection twice.
    found = {}
    for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        local, remote = (int(word.rpartition(":")[2], 16) for word in words[1:3])
        if words[3] == _ESTABLISHED and remote in remote_ports and f"socket:[{words[9]}]" in mine:
            found[words[9]] = (local, remote)
    return list(found.values())
