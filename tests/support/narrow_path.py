"""A path that carries small packets only and drops large ones without a word: an MTU black hole.

What a real one does to IP packets, this does to what arrives at once: from the first large piece
on, a direction of a connection carries nothing more, as TCP would send the same packet for ever.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType

# What an Ethernet packet carries of TCP.
LARGEST = 1448


class NarrowPath:
    """Forwards connections to a server; `address` is where."""

    def __init__(self, server: str) -> None:
        host, _, port = server.rpartition(":")
        self._server = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        """Where clients connect to, as ``host:port``."""
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> NarrowPath:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for each in self._open:
            # Wakes the threads that read from it.
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._open += [client, server]
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        lost = False
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 20):
                lost = lost or len(piece) > LARGEST
                if not lost:
                    sink.sendall(piece)
            sink.shutdown(socket.SHUT_RDWR)
