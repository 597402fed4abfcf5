"""Loopback ports for servers that restart on the same port.

No port is returned twice in a process, or in two workers of pytest-xdist: a caller may start its
server, or restart it, much later. The ports are below the ephemeral range, in which an outgoing
connection could take the port of a stopped server, or even connect to itself.
"""

from __future__ import annotations

import os
import random
import socket
from pathlib import Path

_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")

# Ports that follow each other come from rows of their own, above the single ports.
_ROW, _ROWS = 8, 512

_returned: set[int] = set()


def free_ports(count: int) -> list[int]:
    """Return `count` distinct free ports that no earlier call returned."""
    ceiling = _first_of_rows()
    low = min(20000, ceiling // 2)
    ports = _share_of_worker(range(low, ceiling))
    found: list[int] = []
    for port in random.SystemRandom().sample(ports, k=min(1000, len(ports))):
        if port not in _returned and _is_free(port):
            found.append(port)
        if len(found) == count:
            _returned.update(found)
            return found
    raise OSError(f"found only {len(found)} of {count} free ports in {low}-{ceiling}")


def free_ports_in_a_row(count: int) -> int:
    """Return the first of up to 8 free ports that follow each other; none was returned before."""
    first = _first_of_rows()
    rows = _share_of_worker(range(_ROWS))
    for row in random.SystemRandom().sample(rows, k=len(rows)):
        ports = range(first + row * _ROW, first + row * _ROW + count)
        if not _returned.intersection(ports) and all(map(_is_free, ports)):
            _returned.update(ports)
            return ports[0]
    raise OSError(f"found no {count} free ports in a row from {first}")


def _ceiling() -> int:
    return int(_EPHEMERAL.read_text().split()[0]) if _EPHEMERAL.exists() else 49152


def _first_of_rows() -> int:
    """Return the end of the single ports, where the rows begin."""
    return _ceiling() - _ROW * _ROWS


def _share_of_worker(ports: range) -> range:
    """Return every Nth port in a worker of N."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return ports[int(worker) % workers :: workers]


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def accepts(address: str) -> bool:
    """Return whether a server accepts connections at an address (``host:port``)."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), 5):
            return True
    except OSError:
        return False
