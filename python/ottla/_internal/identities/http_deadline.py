"""HTTP connections whose responses end by a deadline.

The time-out of a socket bounds each of its waits, so that a peer that sends a byte now and then
holds a thread for weeks. Invariant: each read of a response, of its headers as well as of its body,
waits only for what is left until the deadline.
"""

from __future__ import annotations

import io
import socket
import time
from functools import partial
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.request import HTTPHandler, HTTPSHandler, Request


class _DeadlineReader(io.RawIOBase):
    def __init__(self, raw: io.RawIOBase, sock: socket.socket, deadline: float) -> None:
        self._raw, self._socket, self._deadline = raw, sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._socket.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, deadline: float, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        raw: Any = self.fp.detach()  # of a buffered reader
        self.fp = io.BufferedReader(_DeadlineReader(raw, sock, deadline))


def _connection(cls: Any, deadline: float, host: str, **options: Any) -> Any:
    connection = cls(host, **options)
    connection.response_class = partial(_Response, deadline=deadline)
    return connection


class DeadlineHandler(HTTPHandler):
    """Opens ``http`` addresses.

    Args:
        deadline: when responses have to be complete, by ``time.monotonic()``.
    """

    def __init__(self, deadline: float) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: Request) -> HTTPResponse:
        """Open a connection; urllib calls it."""
        connection: Any = partial(_connection, HTTPConnection, self._deadline)
        return self.do_open(connection, req)


class DeadlineHttpsHandler(HTTPSHandler):
    """Opens ``https`` addresses; the certificate and the name are verified, as urllib does.

    Args:
        deadline: when responses have to be complete, by ``time.monotonic()``.
    """

    def __init__(self, deadline: float) -> None:
        super().__init__()
        self._deadline = deadline

    def https_open(self, req: Request) -> HTTPResponse:
        """Open a connection; urllib calls it."""
        connection: Any = partial(_connection, HTTPSConnection, self._deadline)
        # Without a context, http.client makes the default one.
        return self.do_open(connection, req)
