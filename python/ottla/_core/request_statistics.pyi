"""Statistics of a client's requests."""

from collections.abc import Mapping
from typing import final

@final
class RequestStatistics:
    """Statistics of a client's requests since it was created.

    Requests of connection setups are not included; ``ConnectionStatus.phases`` shows their times.
    """

    @property
    def by_api(self) -> Mapping[str, ApiStatistics]:
        """The APIs that the client has used, by Kafka's name, such as ``Fetch``; read-only."""
    @property
    def slowest(self) -> list[SlowRequest]:
        """The slowest responses of the last ten minutes, the slowest first; at most 20."""
    @property
    def retries(self) -> dict[str, int]:
        """How often requests, batches and partitions' fetches were sent again, by cause.

        A cause is Kafka's name of an error code, such as ``NOT_LEADER_OR_FOLLOWER``, or
        ``connection lost``, ``timeout``, ``cannot connect``, ``no broker`` (no broker was known),
        ``malformed response`` or ``other``.
        """

@final
class ApiStatistics:
    """Statistics of one API's requests."""

    @property
    def total(self) -> int:
        """The number of requests that were sent."""
    @property
    def failed(self) -> int:
        """The number of requests whose connection ended before the response."""
    @property
    def latency_avg(self) -> float | None:
        """The smoothed seconds from sending a request to its response; None before the first one.

        As for ``ConnectionStatus.round_trip_time``, each response counts for an eighth. The time
        that a request lets the broker wait is included, such as ``fetch.max.wait.ms``.
        """
    @property
    def last_sent(self) -> float:
        """Seconds since the last request was sent."""

@final
class SlowRequest:
    """A response that took long."""

    @property
    def api(self) -> str:
        """Kafka's name of the request's API."""
    @property
    def address(self) -> str:
        """The broker's address as ``host:port``, with the IP address if the host is a name."""
    @property
    def latency(self) -> float:
        """Seconds from sending the request to its response, without an allowed wait.

        A request may let the broker wait before it responds: a Fetch for records, a JoinGroup or
        SyncGroup for the other members. The longest such wait is subtracted.
        """
    @property
    def age(self) -> float:
        """Seconds since the response."""
