"""A SOCKS5 proxy that leads every name to loopback, for names of TLS that no name service knows.

with loopback_proxy() as url:
    client = ottla.Client("kafka.example.com:9092", {"proxy.url": url})
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

from tests.support.scripted_servers import scripted_server

_NO_LOGIN = b"\x05\x00"
_CONNECTED = b"\x05\x00\x00\x01" + bytes(6)
_NAME = 3


@contextlib.contextmanager
def loopback_proxy() -> Iterator[str]:
    """Run the proxy; yield the value of `proxy.url`, with which the proxy resolves names."""
    with scripted_server(_serve) as port:
        yield f"socks5h://127.0.0.1:{port}"


def _serve(client: socket.socket) -> None:
    _, methods = _read(client, 2)
    _read(client, methods)
    client.sendall(_NO_LOGIN)
    *_, kind, length = _read(client, 5)
    assert kind == _NAME, "an address, which needs no proxy"
    _read(client, length)
    port = int.from_bytes(_read(client, 2), "big")
    with socket.create_connection(("127.0.0.1", port)) as server:
        client.sendall(_CONNECTED)
        back = threading.Thread(target=_copy, args=(server, client), daemon=True)
        back.start()
        _copy(client, server)
        back.join()


def _read(connection: socket.socket, count: int) -> bytes:
    read = connection.recv(count, socket.MSG_WAITALL)
    if len(read) < count:
        raise ConnectionError("the client closed the connection")
    return read


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(1 << 16):
            sink.sendall(chunk)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
