"""Bare connections to a broker or a proxy, without a client."""

from __future__ import annotations

import resource
import socket
import ssl
from contextlib import ExitStack

from benches.gateway.proxies import Certificates

# API versions in version 0, of the client "c".
_REQUEST = bytes.fromhex("0000000b 0012 0000 00000001 0001 63")
_SECONDS = 60


class Connection:
    """A connection that asks for API versions and reads the response."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def ask(self) -> None:
        """Send a request, and wait for the response."""
        self._socket.sendall(_REQUEST)
        read = self._receive()
        while len(read) < 4:
            read += self._receive()
        left = 4 + int.from_bytes(read[:4], "big") - len(read)
        while left > 0:
            left -= len(self._receive())

    def _receive(self) -> bytes:
        chunk = self._socket.recv(1 << 16)
        assert chunk, "the connection was closed"
        return chunk


def connection(stack: ExitStack, address: str, tls: Certificates | None) -> Connection:
    """Open a connection; the stack closes it."""
    host, _, port = address.rpartition(":")
    plain = socket.create_connection((host, int(port)), _SECONDS)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    one = plain
    if tls is not None:
        context = ssl.create_default_context(cafile=str(tls.authority))
        one = context.wrap_socket(plain, server_hostname=host)
    return Connection(stack.enter_context(one))


def open_connections(stack: ExitStack, address: str, tls: Certificates | None, count: int) -> None:
    """Open connections that have one response each, as those of clients; the stack closes them."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for _ in range(count):
        connection(stack, address, tls).ask()
