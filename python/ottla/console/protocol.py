"""The HTTP protocol of a console's connections: uvicorn's, with deadlines and without logs.

Invariants: a connection is closed unless a request is complete within seconds of its first byte,
and its response is read at a minimum rate; a peer without the token cannot cause a line in the
application's log.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ottla.console.connections import CONNECTION, Connections

# Seconds for a whole request, including its body, from the connection or the first byte.
_REQUEST_TIMEOUT = 5.0
# Seconds in which a peer must read at least this many bytes of its response, or all that are left.
_RESPONSE_TIMEOUT = 20.0
_MIN_TAKEN = 64 * 1024

# uvicorn warns of each malformed request.
_log = logging.getLogger(__name__)
_log.setLevel(logging.ERROR)


class HttpConnection(H11Protocol):
    """A connection that the server's ``Connections`` track.

    The access log is off, since the first request contains the token. uvicorn's own switch for it
    applies to the whole process, and the application may be a server, too.
    """

    connections_kept: Connections
    """Set by the subclass of a server."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.access_log = False
        self.logger = _log
        app = cast(ASGIApp, self.app)

        async def with_connection(scope: Scope, receive: Receive, send: Send) -> None:
            await app({**scope, CONNECTION: self}, receive, send)

        self.app = cast(Any, with_connection)
        # The time since when a request has been due, or None if none is due.
        self._owed_since: float | None = None
        # The unsent bytes of a response when the peer last read enough, and the time of that check.
        self._buffered: tuple[int, float] | None = None

    def admit(self) -> bool:
        """Record that the peer has shown the token; return whether there is room for it."""
        return self.connections_kept.admit(self)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Keep the connection, or close it at once."""
        super().connection_made(transport)
        self._owed_since = self.loop.time()
        if not self.connections_kept.open(self):
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.connections_kept.closed(self)
        super().connection_lost(exc)
        # Python 3.10 warns of a transport of TLS that only its peer has closed.
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Handle data from the peer. A complete request meets its deadline."""
        if self._owed_since is None:
            self._owed_since = self.loop.time()
        super().data_received(data)
        if self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}:
            self._owed_since = None

    def is_overdue(self, now: float) -> bool:
        """Return whether the peer is overdue with sending a request or reading a response."""
        if self._owed_since is not None and now - self._owed_since >= _REQUEST_TIMEOUT:
            return True
        size = self.transport.get_write_buffer_size()
        if not size:
            self._buffered = None
        elif self._buffered is None or size <= self._buffered[0] - _MIN_TAKEN:
            self._buffered = size, now
        return self._buffered is not None and now - self._buffered[1] >= _RESPONSE_TIMEOUT

    def abort(self) -> None:
        """Close the connection at once, without what is still to be sent."""
        self.transport.abort()


def protocol_of(connections: Connections) -> type[HttpConnection]:
    """Return the protocol class of a server, which uvicorn instantiates."""
    return type("HttpConnection", (HttpConnection,), {"connections_kept": connections})
