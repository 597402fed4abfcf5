"""The state of a client's connections."""

from typing import Literal, final

@final
class ConnectionStatus:
    """The state of a connection at the time of the call.

    A client has at most two connections to a broker: one for data, and one for the groups and
    transactions that the broker coordinates. Consumers on a shared client have connections of their
    own.
    """

    @property
    def broker(self) -> int:
        """The broker's id."""
    @property
    def role(self) -> Literal["data", "coordinator", "transaction coordinator"]:
        """The connection's purpose: ``data``, or ``coordinator`` for groups and transactions."""
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
