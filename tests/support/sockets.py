"""The TCP connections of this process, as the kernel lists them."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

_ESTABLISHED = "01"


def established(remote_ports: Container[int]) -> list[tuple[int, int]]:
    """Return the local and remote ports of established IPv4 connections."""
    mine = set()
    for fd in Path("/proc/self/fd").iterdir():
        try:
            mine.add(str(fd.readlink()))
        except FileNotFoundError:  # has been closed
            continue
    # By inode: the kernel writes its list in pieces, and concurrent changes may list a connection
    # twice.
    found = {}
    for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        local, remote = (int(field.rpartition(":")[2], 16) for field in fields[1:3])
        if fields[3] == _ESTABLISHED and remote in remote_ports and f"socket:[{fields[9]}]" in mine:
            found[fields[9]] = (local, remote)
    return list(found.values())
