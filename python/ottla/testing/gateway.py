"""A gateway in this process: one address for a cluster, of the mock or of real brokers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from ottla import _core
from ottla._internal.arguments import mapping, names
from ottla._internal.required_arguments import flag
from ottla.gateway.connection import GatewayConnection, connections_of
from ottla.gateway.event import GatewayEvent, events_of
from ottla.gateway.totals import GatewayTotals, totals_of
from ottla.testing.fault_operations import FaultOperations


class Gateway(FaultOperations[_core.Gateway]):
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
        read_only: pass on nothing that changes the cluster but what consumers do: memberships,
            committed offsets and acknowledgements.
        no_admin: pass on nothing that creates or changes topics, configurations, access, quotas,
            users, groups or brokers.
        deny_apis: Kafka's names of APIs whose requests are not passed on.
        allow_topics: patterns; clients use and see only topics of which one matches the whole name.
        deny_topics: patterns of topics that clients do not use and see.
        allow_groups: as ``allow_topics``, for groups of every kind.
        deny_groups: as ``deny_topics``, for groups of every kind.

    Clients get Kafka's authorization errors for what is not passed on.

    Raises:
        ConfigError: an argument is wrong.
    """

    def __init__(
        self,
        bootstrap: str,
        config: Mapping[str, Any] | None = None,
        *,
        read_only: bool = False,
        no_admin: bool = False,
        deny_apis: Iterable[str] = (),
        allow_topics: Iterable[str] = (),
        deny_topics: Iterable[str] = (),
        allow_groups: Iterable[str] = (),
        deny_groups: Iterable[str] = (),
    ) -> None:
        given = mapping("config", config or {}, '{"security.protocol": "SSL"}')
        self._core = _core.Gateway(
            {**given, "bootstrap.servers": bootstrap},
            listen=("127.0.0.1", 0),
            advertised_host="127.0.0.1",
            allow_faults=True,
            rules={
                "read_only": flag("read_only", read_only),
                "no_admin": flag("no_admin", no_admin),
                "deny_apis": names("deny_apis", deny_apis),
                "allow_topics": names("allow_topics", allow_topics),
                "deny_topics": names("deny_topics", deny_topics),
                "allow_groups": names("allow_groups", allow_groups),
                "deny_groups": names("deny_groups", deny_groups),
            },
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
