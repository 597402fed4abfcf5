"""An MTU black hole: a path that silently drops large packets.

It forwards small chunks. From the first large chunk on, a direction of a connection forwards
nothing more, since TCP would retransmit the same packet forever.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType

# The TCP payload of an Ethernet packet.
MAX_PAYLOAD = 1448


class MtuBlackHole:
    """Forwards connections at `address` to a server."""

    def __init__(self, server: str, max_payload: int = MAX_PAYLOAD) -> None:
        self._max_payload = max_payload
        host, _, port = server.rpartition(":")
        self._server = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        """The address for clients, as ``host:port``."""
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> MtuBlackHole:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for each in self._open:
            # Wakes the threads that read from this socket.
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
                    threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        lost = False
        with contextlib.suppress(OSError):
            while chunk := source.recv(1 << 20):
                lost = lost or len(chunk) > self._max_payload
                if not lost:
                    sink.sendall(chunk)
            sink.shutdown(socket.SHUT_RDWR)
