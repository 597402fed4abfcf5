"""Changes of the cluster and of connections."""

from asyncio import Future
from typing import Literal, final

@final
class Event:
    """A change of the cluster, or of a connection to it.

    ``str(event)`` is its message. Properties that do not apply to its kind are None.
    """

    @property
    def kind(
        self,
    ) -> Literal[
        "broker_added",
        "broker_lost",
        "broker_moved",
        "topic_appeared",
        "topic_gone",
        "topic_recreated",
        "partitions_added",
        "leader_changed",
        "connection_opened",
        "connection_lost",
        "missed",
    ]:
        """The kind of change, such as ``leader_changed`` or ``connection_lost``.

        ``missed`` reports that events came faster than they were read: the oldest were dropped.
        """
    @property
    def broker(self) -> int | None:
        """The id of the broker that the event is about."""
    @property
    def address(self) -> str | None:
        """The broker's address as ``host:port``."""
    @property
    def topic(self) -> str | None:
        """The topic that the event is about."""
    @property
    def partition(self) -> int | None:
        """The number of the partition that the event is about."""
    @property
    def before(self) -> int | None:
        """The previous leader (None: none or unknown), or the previous number of partitions."""
    @property
    def after(self) -> int | None:
        """The new leader (None: none or unknown), or the new number of partitions."""
    @property
    def leader_epoch(self) -> int | None:
        """The leader epoch of the new leader, if it is known."""
    @property
    def cause(self) -> str | None:
        """Why a connection was lost."""
    @property
    def message(self) -> str:
        """A sentence that describes the event."""

@final
class Events:
    """Changes of the cluster and of the client's connections since the call of ``events()``.

    Iterating waits for the next event and ends when the client is closed. At most 1,024 unread
    events are buffered; then the oldest are dropped, and an event of kind ``missed`` reports it.
    """

    def next(self, *, timeout: float | None = None) -> Event | None:
        """Return the next event.

        Args:
            timeout: seconds to wait. Default: no limit.

        Returns:
            The event, or None if none came in time.

        Raises:
            ClosedError: the client was closed, or another thread waits for the next event.
        """

    def __iter__(self) -> Events: ...
    def __next__(self) -> Event: ...

@final
class AsyncEvents:
    """Changes of the cluster and of the client's connections, for asyncio.

    ``async for event in await client.events()`` waits for the next event and ends when the client
    is closed. At most 1,024 unread events are buffered; then the oldest are dropped, and an event
    of kind ``missed`` reports it. Cancelling a wait loses no event. Several tasks may wait; each
    event goes to one of them.
    """

    def next(self, *, timeout: float | None = None) -> Future[Event | None]:
        """Return the next event.

        Args:
            timeout: seconds to wait. Default: no limit.

        Returns:
            The event, or None if none came in time.

        Raises:
            ClosedError: the client was closed.
        """

    def __aiter__(self) -> AsyncEvents: ...
    def __anext__(self) -> Future[Event]: ...
