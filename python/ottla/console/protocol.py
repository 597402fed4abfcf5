"""HTTP of a console's connection: uvicorn's, with deadlines and without logs that strangers fill.

Invariants: a request is complete some seconds after its first byte, and its response is taken at a
lowest rate, or the connection is closed; nothing that a peer without the token sends becomes a line
of the application's log.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ottla.console.connections import CONNECTION, Connections

# Seconds for a whole request, its body included, from the connection or its first byte.
_REQUEST_TIMEOUT = 5.0
# Seconds in which a peer takes at least this many bytes of its response, or all that are left.
_RESPONSE_TIMEOUT = 20.0
_MIN_TAKEN = 64 * 1024

# uvicorn warns of each malformed request.
_log = logging.getLogger(__name__)
_log.setLevel(logging.ERROR)


class HttpConnection(H11Protocol):
    """A connection that the server's ``Connections`` keep.

    The access log is off, since the first request has the token; uvicorn's own switch for it is the
    process's, and the application may be a server, too.
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
        # The time since which the peer owes a request; None while it does not.
        self._owed_since: float | None = None
        # The bytes of a response that waited for the peer at some time.
        self._buffered: tuple[int, float] | None = None

    def admit(self) -> bool:
        """Note that the peer has shown the token; return whether there is room for it."""
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

    def data_received(self, data: bytes) -> None:
        """Handle what the peer has sent; its time ends with the request."""
        if self._owed_since is None:
            self._owed_since = self.loop.time()
        super().data_received(data)
        if self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}:
            self._owed_since = None

    def is_overdue(self, now: float) -> bool:
        """Return whether the peer has had its time to send a request, or to take a response."""
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
    """Return the protocol of a server: uvicorn makes its instances."""
    return type("HttpConnection", (HttpConnection,), {"connections_kept": connections})
