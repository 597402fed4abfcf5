"""A proxy from PyPI, pproxy, in a process of its own: SOCKS5 and HTTP CONNECT at one port."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

from tests.support.ports import free_ports


@contextlib.contextmanager
def pproxy_server(user_info: str = "") -> Iterator[str]:
    """Run a proxy; yield its address as ``host:port``.

    Args:
        user_info: ``user:password`` that it asks for; empty if it asks for none.
    """
    [port] = free_ports(1)
    listen = f"socks5+http://127.0.0.1:{port}" + (f"#{user_info}" if user_info else "")
    # By default, an address that has logged in once need not do so again.
    command = [sys.executable, "-m", "pproxy", "-l", listen, "--auth=-1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            _wait_until_it_listens(port, running)
            yield f"127.0.0.1:{port}"
        finally:
            running.kill()


def _wait_until_it_listens(port: int, running: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert running.poll() is None, "the proxy ended"
            assert time.monotonic() < deadline, "the proxy does not listen"
            time.sleep(0.02)
        else:
            return
