"""The state of a client's connections."""

from typing import Literal, final

@final
class ConnectionStatus:
    """The state of a connection at the time of the call.

    A client has at most two connections to a broker: one for data, and one for the groups and
    transactions that the broker coordinates. Consumers on a shared client have connections of their
    own.

    Until a client has found its cluster, it also lists the bootstrap servers that it has tried,
    with the broker -1 and the role ``bootstrap``. The connection that finds the cluster is then
    listed under its broker's id if the cluster advertises the address; otherwise it is closed.
    """

    @property
    def broker(self) -> int:
        """The broker's id; -1 for a bootstrap server. Java numbers those with negative ids too."""
    @property
    def role(self) -> Literal["bootstrap", "data", "coordinator", "transaction coordinator"]:
        """The purpose: ``data``, ``coordinator``, ``transaction coordinator`` or ``bootstrap``."""
    @property
    def address(self) -> str:
        """The broker's address as ``host:port``."""
    @property
    def state(self) -> Literal["connected", "connecting", "backing_off", "disconnected"]:
        """``connected``, ``connecting``, ``backing_off`` after a failure, or ``disconnected``."""
    @property
    def phase(self) -> str | None:
        """The current step while ``connecting``, such as ``DNS`` or ``TLS``."""
    @property
    def phases(self) -> list[tuple[str, float]]:
        """The steps of the latest attempt to connect, in order, with the seconds that each took.

        ``DNS``, ``TCP``, ``TLS`` (if used), ``ApiVersions``, ``SASL`` (if used); and ``Metadata``
        if the attempt was to a bootstrap server. While connecting, the last one is the current step
        and its time so far; after a failure, it is the step that failed. If the host has several
        addresses, these are the steps of the one that connected, or that got furthest.
        """
    @property
    def connected_for(self) -> float | None:
        """Seconds since the connection was opened; None if it is not open."""
    @property
    def api_versions(self) -> dict[str, int]:
        """The highest version that both sides support, by Kafka's name of the API.

        Empty if the connection is not open.
        """
    @property
    def in_flight(self) -> int:
        """The number of requests in flight."""
    @property
    def round_trip_time(self) -> float | None:
        """The smoothed round-trip time in seconds, without fetches; None if unknown."""
    @property
    def throttled_for(self) -> float | None:
        """The remaining throttle time in seconds (KIP-219), or None."""
    @property
    def last_error(self) -> str | None:
        """The message of the last failure; None if there was none."""
