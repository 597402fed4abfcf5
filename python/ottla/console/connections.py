"""The connections of a console's server: which it keeps, and for how long.

The console lives in an application whose descriptors it shares, and everybody who reaches the port
can connect. Invariants: connections that have not shown the token are few, and the oldest makes
room for the newest, so that a page gets through while strangers connect; the process keeps
descriptors in reserve for its own work; a peer that does not send its request, or does not take its
response, is disconnected within seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from ottla.console import descriptors

CONNECTION = "ottla.console.connection"
"""The key of a request's scope that has its connection."""

# Connections without the token, and with it: each page has one for its stream, and a browser opens
# six at most. Of the process's limit they are an eighth and a quarter at most.
_MAX_STRANGERS, _MAX_ADMITTED = 64, 512
_STRANGERS_SHARE, _ADMITTED_SHARE = 8, 4
# Descriptors that are left to the application: an eighth of its limit, and this many at most.
_MAX_RESERVE, _RESERVE_SHARE = 128, 8
# Seconds between looks at the connections.
_INTERVAL = 0.5


class Connection(Protocol):
    """What is known of a connection."""

    def is_overdue(self, now: float) -> bool:
        """Return whether the peer has had its time to send a request, or to take a response."""

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
            # The other one's place is the application's.
            self._abort_oldest()
        self._strangers[connection] = None
        return True

    def admit(self, connection: Connection) -> bool:
        """Note that a connection has shown the token; return whether there is room for it."""
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
        """Close the connections whose peers had their time."""
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
    """Return connections that leave descriptors to the rest of this process."""
    headroom = descriptors.Headroom()

    def free() -> int | None:
        found = headroom.free()
        headroom.take()
        return found

    return Connections(descriptors.limit(), free)
