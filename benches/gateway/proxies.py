"""The proxies that are compared: how each starts, and what its process uses.

Invariant: a proxy's process ends with its `with` block.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.jars import REPOSITORY
from tests.support.ports import free_ports_in_a_row

_TICKS = os.sysconf("SC_CLK_TCK")
_START_SECONDS = 60


@dataclass(frozen=True)
class Certificates:
    """Files of a certificate for loopback: the chain, the key and the authority."""

    chain: Path
    key: Path
    authority: Path


@dataclass(frozen=True)
class Proxy:
    """A running proxy, or none: its addresses for bootstrapping and for the first broker, and its
    process.
    """

    name: str
    bootstrap: str
    first_broker: str
    pid: int | None

    def cpu_seconds(self) -> float:
        """Return the user and system time of the process; 0 without a proxy."""
        if self.pid is None:
            return 0.0
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def resident(self) -> int:
        """Return the resident memory in bytes; 0 without a proxy."""
        if self.pid is None:
            return 0
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


def build_of_ottla() -> str:
    """Return which build of the extension is measured: figures of a dev build mean nothing."""
    from ottla import _core

    path = Path(str(_core.__file__))
    # Checks of integers are compiled in only without optimisation.
    is_dev = b"attempt to add with overflow" in path.read_bytes() and path.stat().st_size > 50 << 20
    return f"{'dev' if is_dev else 'release'} ({path.stat().st_size >> 20} MiB)"


def build_gateway() -> Path:
    """Build the program `ottla-gateway` as users get it, and return its path."""
    command = ["cargo", "build", "--locked", "--release", "-p", "ottla-gateway-binary"]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    return REPOSITORY / "target" / "release" / "ottla-gateway"


@contextmanager
def direct(servers: Mapping[int, str], _: Certificates | None) -> Iterator[Proxy]:
    """No proxy."""
    first = servers[min(servers)]
    yield Proxy("direct", first, first, None)


@contextmanager
def gateway(
    program: Path | None, servers: Mapping[int, str], tls: Certificates | None
) -> Iterator[Proxy]:
    """`ottla gateway`, or the program `ottla-gateway`, with TLS towards clients if there are
    certificates.
    """
    port = free_ports_in_a_row(1 + len(servers))
    first, last = port + 1, port + len(servers)
    command = [sys.executable, "-m", "ottla", "gateway"] if program is None else [str(program)]
    command += [
        next(iter(servers.values())),
        "--listen",
        f"127.0.0.1:{port}",
        "--ports",
        f"{first}-{last}",
    ]
    command += ["--first-broker", str(min(servers))]
    if tls is not None:
        command += ["--tls-cert", str(tls.chain), "--tls-key", str(tls.key)]
    name = "ottla gateway" if program is None else "ottla-gateway"
    with _running(name, command, port, first, last) as proxy:
        yield proxy


@contextmanager
def kafka_proxy(
    program: Path, servers: Mapping[int, str], tls: Certificates | None
) -> Iterator[Proxy]:
    """kafka-proxy with a port for each broker, the first of which is for bootstrapping."""
    port = free_ports_in_a_row(len(servers))
    command = [str(program), "server", "--http-disable", "--log-level", "error"]
    for n, address in enumerate(servers.values()):
        command += ["--bootstrap-server-mapping", f"{address},127.0.0.1:{port + n}"]
    if tls is not None:
        command += ["--proxy-listener-tls-enable"]
        command += ["--proxy-listener-cert-file", str(tls.chain)]
        command += ["--proxy-listener-key-file", str(tls.key)]
    with _running("kafka-proxy", command, port, port, port + len(servers) - 1) as proxy:
        yield proxy


@contextmanager
def _running(
    name: str, command: Sequence[str], port: int, first: int, last: int
) -> Iterator[Proxy]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _START_SECONDS
        for each in range(port, last + 1):
            while not _listens(each):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"{' '.join(command)} does not listen at {each}")
                time.sleep(0.05)
        yield Proxy(name, f"127.0.0.1:{port}", f"127.0.0.1:{first}", process.pid)
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False
