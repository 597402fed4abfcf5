"""Forwards each TCP connection to one of several servers, in turn."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from tests.support.scripted_servers import scripted_server

Delay: TypeAlias = Callable[[], float]


@contextlib.contextmanager
def tcp_proxy(servers: Sequence[str], delay: Delay = lambda: 0.0, port: int = 0) -> Iterator[int]:
    """Forward connections to these servers (``host:port``) in turn; yield the proxy's port.

    One that refuses the connection is passed over.

    Args:
        servers: the servers.
        delay: returns the seconds by which the next bytes of a connection are late.
        port: the proxy's port; by default a free one.
    """
    turns = itertools.cycle(servers)
    lock = threading.Lock()

    def connect() -> socket.socket:
        for _ in servers[1:]:
            with contextlib.suppress(ConnectionRefusedError):
                return connect_to(next_server())
        return connect_to(next_server())

    def next_server() -> str:
        with lock:
            return next(turns)

    def connect_to(server: str) -> socket.socket:
        host, _, port = server.rpartition(":")
        return socket.create_connection((host, int(port)))

    def forward(client: socket.socket) -> None:
        with connect() as server:
            back = threading.Thread(target=_copy, args=(server, client, delay), daemon=True)
            back.start()
            _copy(client, server, delay)
            back.join()

    with scripted_server(forward, port=port) as listening:
        yield listening


def _copy(source: socket.socket, sink: socket.socket, delay: Delay) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(1 << 16):
            time.sleep(delay())
            sink.sendall(chunk)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
