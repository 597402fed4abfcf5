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
from ottla.testing.fault import Fault


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

    def inject(
        self,
        fault: Fault,
        *,
        api: str | None = None,
        broker: int | None = None,
        topic: str | None = None,
        partition: int | None = None,
        client_id: str | None = None,
        skip: int = 0,
        times: int | None = None,
    ) -> int:
        """Inject a fault into the requests that match all given conditions.

        The cluster may be a real one: the gateway misbehaves in its place. A request that an error
        refuses for some of its topics or partitions is refused whole; the others get an error after
        which clients send them again.

        Args:
            fault: the fault: any but ``move_leader`` and ``omit_partition``.
            api: the API's name, such as ``Produce``.
            broker: the broker's id; requests to the bootstrap address are to none.
            topic: the topic.
            partition: the partition.
            client_id: the client's ``client.id``.
            skip: the number of matching requests to leave unharmed first.
            times: the maximum number of requests to hit. Default: no limit. ``cut`` and ``slow``
                hit a connection once.

        Returns:
            The fault's id, for ``fault_hits``.

        Raises:
            ConfigError: there is no such API, or no such error code; or a gateway has no such
                fault.
        """
        return self._core.inject(
            fault.reaction,
            api=api,
            broker=broker,
            topic=topic,
            partition=partition,
            client_id=client_id,
            skip=skip,
            times=times,
        )

    def fault_hits(self, fault: int) -> int:
        """Return the number of requests or connections that a fault has hit; 0 if it was removed.

        Args:
            fault: the fault's id, from ``inject``.
        """
        return self._core.fault_hits(fault)

    def remove_fault(self, fault: int) -> bool:
        """Remove a fault; return whether it was there.

        Args:
            fault: the fault's id, from ``inject``.
        """
        return self._core.remove_fault(fault)

    def clear_faults(self) -> None:
        """Remove all faults."""
        self._core.clear_faults()

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
