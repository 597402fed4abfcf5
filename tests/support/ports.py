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

_returned: set[int] = set()


def free_ports(count: int) -> list[int]:
    """Return `count` distinct free ports that no earlier call returned."""
    ceiling = int(_EPHEMERAL.read_text().split()[0]) if _EPHEMERAL.exists() else 49152
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
