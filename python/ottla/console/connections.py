"""The connections of a console's server: limits on their number and their lifetime.

The console shares the file descriptors of an application, and anyone who reaches the port can
connect. Invariants: few connections without the token are kept, and a new one replaces the oldest,
so that a page can connect even while others flood the port; the process keeps descriptors in
reserve for its own work; a peer that does not send its request, or does not read its response, is
disconnected within seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from ottla.console import descriptors

CONNECTION = "ottla.console.connection"
"""The key of a request's scope that has its connection."""

# The largest numbers of connections without and with the token. Each page has one for its stream,
# and a browser opens at most six. They take at most an eighth and a quarter of the process's limit.
_MAX_STRANGERS, _MAX_ADMITTED = 64, 512
_STRANGERS_SHARE, _ADMITTED_SHARE = 8, 4
# Descriptors that are reserved for the application: an eighth of its limit, but at most this many.
_MAX_RESERVE, _RESERVE_SHARE = 128, 8
# Seconds between checks of the connections.
_INTERVAL = 0.5


class Connection(Protocol):
    """A connection, as far as ``Connections`` needs to know it."""

    def is_overdue(self, now: float) -> bool:
        """Return whether the peer is overdue with sending a request or reading a response."""

    def abort(self) -> None:
        """Close the connection at once."""


class Connections:
    """The open connections.

    Args:
        most_descriptors: the process's limit of descriptors; None without one.
        free_descriptors: returns how many of them are free; None if that is unknown.
    """

    def __init__(
        self,
        most_descriptors: int | None,
        free_descriptors: Callable[[], int | None],
    ) -> None:
        most = most_descriptors or 2**31
        self._free = free_descriptors
        self._reserve = min(_MAX_RESERVE, most // _RESERVE_SHARE)
        self._max_strangers = max(1, min(_MAX_STRANGERS, most // _STRANGERS_SHARE))
        self._max_admitted = max(1, min(_MAX_ADMITTED, most // _ADMITTED_SHARE))
        # In the order in which they were opened.
        self._strangers: dict[Connection, None] = {}
        self._admitted: set[Connection] = set()

    def open(self, connection: Connection) -> bool:
        """Add a new connection, which may close another one; return whether it may stay."""
        free = self._free()
        is_short = free is not None and free < self._reserve
        if is_short and not self._strangers:
            return False
        if is_short or len(self._strangers) >= self._max_strangers:
            self._abort_oldest()
        if is_short:
            # The descriptor of the closed connection goes to the application.
            self._abort_oldest()
        self._strangers[connection] = None
        return True

    def admit(self, connection: Connection) -> bool:
        """Record that a connection has shown the token; return whether there is room for it."""
        if connection in self._admitted:
            return True
        if connection not in self._strangers or len(self._admitted) >= self._max_admitted:
            return False
        del self._strangers[connection]
        self._admitted.add(connection)
        return True

    def closed(self, connection: Connection) -> None:
        """Remove a connection that is closed."""
        self._strangers.pop(connection, None)
        self._admitted.discard(connection)

    def abort_overdue(self, now: float) -> None:
        """Close the connections of overdue peers."""
        for connection in [*self._strangers, *self._admitted]:
            if connection.is_overdue(now):
                connection.abort()

    async def watch(self) -> None:
        """Close overdue connections until the task is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_INTERVAL)
            self.abort_overdue(loop.time())

    def close(self) -> None:
        """Close all connections at once."""
        for connection in [*self._strangers, *self._admitted]:
            connection.abort()

    def _abort_oldest(self) -> None:
        if (oldest := next(iter(self._strangers), None)) is not None:
            del self._strangers[oldest]
            oldest.abort()


def of_this_process() -> Connections:
    """Return connections that leave enough descriptors for the rest of this process."""
    headroom = descriptors.Headroom()

    def free() -> int | None:
        found = headroom.free()
        headroom.take()
        return found

    return Connections(descriptors.limit(), free)
