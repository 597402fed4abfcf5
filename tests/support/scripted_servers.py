"""Servers that are not Kafka, or only half: a function serves each connection.

Invariant: the function runs on a thread of its own, and its connection is closed when it returns.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import TypeAlias

Serve: TypeAlias = Callable[[socket.socket], None]


@contextlib.contextmanager
def scripted_server(serve: Serve, host: str = "127.0.0.1", port: int = 0) -> Iterator[int]:
    """Serve connections, by default at a free port, until the block ends; yield the port."""
    listener = socket.create_server((host, port))
    connections: list[socket.socket] = []

    def run(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            serve(connection)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connections.append(connection)
                threading.Thread(target=run, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        for each in (listener, *connections):
            # Wakes the thread that reads from it.
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def wait_for_end(connection: socket.socket) -> None:
    """Read until the client closes the connection."""
    while connection.recv(4096):
        pass


def read_line(connection: socket.socket) -> bytes:
    """Read until the end of a line or of the connection; return all of it."""
    read = b""
    while b"\n" not in read:
        chunk = connection.recv(4096)
        if not chunk:
            break
        read += chunk
    return read
