"""Idle connections to a proxy, each after a request, as clients have them."""

from __future__ import annotations

import resource
import socket
import ssl
from contextlib import ExitStack

from benches.gateway.proxies import Certificates

# API versions in version 0, of the client "c".
_REQUEST = bytes.fromhex("0000000b 0012 0000 00000001 0001 63")
_SECONDS = 60


def open_connections(stack: ExitStack, address: str, tls: Certificates | None, count: int) -> None:
    """Open connections that have one response each; the stack closes them."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    context = None if tls is None else ssl.create_default_context(cafile=str(tls.authority))
    host, _, port = address.rpartition(":")
    for _ in range(count):
        plain = socket.create_connection((host, int(port)), _SECONDS)
        one = plain if context is None else context.wrap_socket(plain, server_hostname=host)
        stack.enter_context(one)
        one.sendall(_REQUEST)
        missing = int.from_bytes(_read(one, 4), "big")
        _read(one, missing)


def _read(one: socket.socket, count: int) -> bytes:
    read = b""
    while len(read) < count:
        chunk = one.recv(count - len(read))
        assert chunk, "the proxy closed the connection"
        read += chunk
    return read
