"""A snapshot of the cluster's metadata."""

from collections.abc import Mapping
from typing import final

@final
class Broker:
    """A broker of the cluster, as the metadata describes it."""

    @property
    def id(self) -> int:
        """The broker's id (``node.id``)."""
    @property
    def host(self) -> str:
        """The host name or address that the broker advertises to clients."""
    @property
    def port(self) -> int:
        """The port that the broker advertises to clients."""
    @property
    def rack(self) -> str | None:
        """The broker's rack (``broker.rack``); None if it has none."""

@final
class Partition:
    """A partition of a topic: its leader, its replicas and their state."""

    @property
    def index(self) -> int:
        """The partition's number in its topic, from 0."""
    @property
    def leader(self) -> int | None:
        """The id of the broker that leads the partition; None while there is no leader."""
    @property
    def leader_epoch(self) -> int:
        """The leader epoch (KIP-320), which grows with each change of the leader; -1 if unknown."""
    @property
    def replicas(self) -> list[int]:
        """The ids of the brokers that have a replica, the preferred leader first."""
    @property
    def isr(self) -> list[int]:
        """The ids of the brokers whose replicas are in sync."""
    @property
    def offline_replicas(self) -> list[int]:
        """The ids of the brokers whose replicas are offline."""
    @property
    def error(self) -> str | None:
        """Kafka's name of the partition's error, such as ``LEADER_NOT_AVAILABLE``, or None."""

@final
class Topic:
    """A topic and its partitions."""

    @property
    def name(self) -> str:
        """The topic's name."""
    @property
    def id(self) -> str | None:
        """The topic's id (KIP-516) as a string; None if the brokers do not support topic ids."""
    @property
    def internal(self) -> bool:
        """Whether the topic is Kafka's own, such as ``__consumer_offsets``."""
    @property
    def error(self) -> str | None:
        """Kafka's name of the topic's error, such as ``UNKNOWN_TOPIC_OR_PARTITION``, or None."""
    @property
    def partitions(self) -> dict[int, Partition]:
        """The topic's partitions by number, in a new dict."""
    def _repr_html_(self) -> str: ...

@final
class Cluster:
    """An immutable snapshot of the cluster's metadata.

    ``Client.cluster()`` returns the current one.
    """

    @property
    def cluster_id(self) -> str | None:
        """The cluster's id (``cluster.id``); None if unknown."""
    @property
    def generation(self) -> int:
        """The snapshot's number, which grows with each refresh; 0 before the first."""
    @property
    def brokers(self) -> dict[int, Broker]:
        """The brokers by id, in a new dict."""
    @property
    def topics(self) -> Mapping[str, Topic]:
        """The topics that the client knows: a read-only mapping by name, in alphabetical order."""
    def _repr_html_(self) -> str: ...
