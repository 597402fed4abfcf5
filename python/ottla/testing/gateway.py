"""A gateway in this process: one address for a cluster, of the mock or of real brokers."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from ottla import _core
from ottla._internal.arguments import mapping
from ottla.gateway.connection import GatewayConnection, connections_of
from ottla.gateway.event import GatewayEvent, events_of
from ottla.gateway.totals import GatewayTotals, totals_of


class Gateway:
    """A gateway in front of a cluster, in this process; it listens on loopback.

    Clients connect to ``bootstrap``, and learn an address of the gateway for each broker. Use it in
    a ``with`` block, or ``close()`` it.

    ```python
    with MockCluster() as cluster, Gateway(cluster.bootstrap) as gateway:
        producer = ottla.Producer(gateway.bootstrap)
    ```

    Args:
        bootstrap: the addresses of the cluster, as a value of ``bootstrap.servers``.
        config: how the gateway connects to the cluster, by Kafka's dotted names, such as
            ``security.protocol``. Default: plaintext.

    Raises:
        ConfigError: an argument is wrong.
    """

    def __init__(self, bootstrap: str, config: Mapping[str, Any] | None = None) -> None:
        given = mapping("config", config or {}, '{"security.protocol": "SSL"}')
        self._core = _core.Gateway(
            {**given, "bootstrap.servers": bootstrap},
            listen=("127.0.0.1", 0),
            advertised_host="127.0.0.1",
        )

    @property
    def bootstrap(self) -> str:
        """The address at which clients bootstrap, as ``host:port``."""
        return self._core.bootstrap

    @property
    def brokers(self) -> dict[int, str]:
        """The gateway's address of each broker that it knows, as ``host:port``, by id."""
        return self._core.brokers

    def connections(self) -> list[GatewayConnection]:
        """Return the clients' connections that are open now, the oldest first."""
        return connections_of(self._core.connections())

    def ended(self) -> list[GatewayConnection]:
        """Return the clients' connections that have ended since the last call, the oldest first.

        They are kept from the first call on: the first one returns none. At most 10,000 are kept.
        """
        return connections_of(self._core.take_ended())

    def totals(self) -> GatewayTotals:
        """Return what all connections did since the gateway started."""
        return totals_of(self._core.totals())

    def events(self, after: int = 0) -> list[GatewayEvent]:
        """Return what happened lately, the oldest first: brokers, coordinators and failures.

        Args:
            after: the number of an event: only later ones are returned. The latest 1,000 are kept.
        """
        return events_of(self._core.events(after))

    def close(self, timeout: float = 5.0) -> int:
        """Stop accepting connections, let requests in flight finish, and close.

        Args:
            timeout: how long requests in flight may take, in seconds.

        Returns:
            The number of connections that were cut off, since they were not finished in time.
        """
        return self._core.close(timeout)

    def __enter__(self) -> Gateway:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return "Gateway()"
