"""A gateway in this process: one address for a cluster, of the mock or of real brokers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ottla import _core
from ottla._internal.arguments import mapping


@dataclass(frozen=True)
class GatewayConnection:
    """A client's connection through a gateway, at one point in time.

    Attributes:
        id: its number, which no other connection of the gateway has.
        peer: the client's address as ``host:port``.
        broker: the broker that the client named; None for the bootstrap address.
        client_id: the ``client.id`` of its latest request.
        software: the name and version of the client's library, or None if it has not sent them.
        received: the bytes received from the client.
        sent: the bytes received from the broker.
        age: how long it has been open, in seconds.
        requests: the number of requests by API.
        responses: the number of responses by API.
        waited: the time from each request to its response, added up by API, in seconds.
    """

    id: int
    peer: str
    broker: int | None
    client_id: str
    software: str | None
    received: int
    sent: int
    age: float
    requests: Mapping[str, int]
    responses: Mapping[str, int]
    waited: Mapping[str, float]


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
        return [_connection(values) for values in self._core.sessions()]

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


def _connection(values: dict[str, Any]) -> GatewayConnection:
    counts: dict[str, tuple[int, int, float]] = values.pop("requests")
    return GatewayConnection(
        **values,
        requests={api: count[0] for api, count in counts.items()},
        responses={api: count[1] for api, count in counts.items()},
        waited={api: count[2] for api, count in counts.items()},
    )
