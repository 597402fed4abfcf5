"""The source of a console: a client, or a producer or consumer with the client that it uses.

Invariant: the console does not create a second client, so it shows the application's own
connections and numbers.
"""

from __future__ import annotations

from typing import Any

import ottla
from ottla import AsyncClient, ConnectionStatus
from ottla._core import async_client_of, client_of

_KINDS = {
    "Client": "client",
    "AsyncClient": "client",
    "Producer": "producer",
    "AsyncProducer": "producer",
    "Consumer": "consumer",
    "AsyncConsumer": "consumer",
    "ShareConsumer": "share consumer",
    "AsyncShareConsumer": "share consumer",
}


class Source:
    """A client, producer or consumer, and the data that a console shows of it.

    Args:
        handle: a client, producer, consumer or share consumer, blocking or for asyncio.

    Raises:
        ClosedError: the handle is closed.
        TypeError: the handle has another type.
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self.client: AsyncClient = async_client_of(handle)
        # Code shared with the command line uses the blocking handle, in threads.
        self.blocking: ottla.Client = client_of(handle)
        self.admin = ottla.Admin(self.blocking)
        self.kind: str = next(
            (_KINDS[each.__name__] for each in type(handle).__mro__ if each.__name__ in _KINDS),
            "client",
        )

    @property
    def group_id(self) -> str | None:
        """The group of a consumer, or None."""
        if self.kind != "consumer":
            return None
        try:
            group: str = self._handle.group_metadata().group_id
        except ottla.errors.KafkaError:  # a consumer without a group
            return None
        return group

    def connections(self) -> list[ConnectionStatus]:
        """Return the state of each connection."""
        found: list[ConnectionStatus] = self._handle.connections()
        return found

    def metrics(self) -> dict[str, float]:
        """Return the metrics, by the Java client's names."""
        return dict(self._handle.metrics())
