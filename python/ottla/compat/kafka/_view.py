"""What several clients of the layer share: connecting, the view of the cluster, metrics.

Invariant: a client that was given an ``api_version`` connects at first use, as kafka-python does;
any other must find the cluster before its constructor returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import ottla
from ottla import errors
from ottla.compat.kafka._config import bootstrap_timeout
from ottla.compat.kafka._errors import translating
from ottla.compat.kafka.cluster import ClusterMetadata
from ottla.compat.kafka.errors import KafkaTimeoutError, NoBrokersAvailable

__all__ = [
    "ClientView",
    "find_cluster",
    "grouped_metrics",
    "open_client",
]

# Clients that have a snapshot of the metadata.
Handle: TypeAlias = ottla.Client | ottla.Consumer

# What a program is told that asks which version the brokers have: each connection negotiates.
_NEWEST = (4, 3)


class ClientView:
    """The client below a consumer, a producer or an admin client.

    Attributes:
        cluster: the cluster as the client knows it.
    """

    def __init__(self, client: Handle) -> None:
        self._client = client
        self.cluster = ClusterMetadata(self._snapshot)

    def _snapshot(self) -> ottla.Cluster | None:
        try:
            return self._client.cluster(timeout=0)
        except errors.KafkaError:
            return None

    def least_loaded_node(self) -> int | None:
        """Return the id of a broker; None if none is known."""
        return next((int(each.node_id) for each in self.cluster.brokers()), None)

    def bootstrap_connected(self) -> bool:
        """Whether there is a connection to any broker."""
        try:
            return any(each.state == "connected" for each in self._client.connections())
        except errors.KafkaError:
            return False


def open_client(config: Mapping[str, Any]) -> ottla.Client:
    """Return a client that has not connected yet."""
    with translating():
        return ottla.Client(connect=False, **config)


def find_cluster(client: Handle, config: dict[str, Any]) -> None:
    """Find the cluster within ``bootstrap_timeout_ms``; close the client if it is not found.

    Raises:
        NoBrokersAvailable: no server was found in time.
    """
    try:
        with translating():
            client.cluster(timeout=bootstrap_timeout(config))
    except BaseException as error:
        client.close()
        if isinstance(error, KafkaTimeoutError):
            raise NoBrokersAvailable(*error.args) from error
        raise
    config["api_version"] = config["api_version"] or _NEWEST


def grouped_metrics(prefix: str, metrics: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return metrics in the form of kafka-python: by group, then by name."""
    return {
        "kafka-metrics-count": {"count": float(len(metrics))},
        f"{prefix}-metrics": dict(metrics),
    }
