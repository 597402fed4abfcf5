"""Facts beyond the steps of connections: replicas, quotas, live brokers, and other protocols.

Like all facts, they are frozen dataclasses, ready for JSON, without conclusions.
"""

from __future__ import annotations

from dataclasses import dataclass

from ottla._internal.text import join


@dataclass(frozen=True)
class Responder:
    """What responded at a port that does not respond like a Kafka broker.

    Attributes:
        protocol: its protocol, such as ``Redis``; None if it is unknown.
        first_bytes: its first bytes, printable, at most 32; empty if it sent none.
        acknowledged: whether its system acknowledged the bytes of a request, so that they arrived;
            None if that is unknown.
        small_response: whether it responded to a request of Kafka's whose response is small.
    """

    protocol: str | None = None
    first_bytes: str = ""
    acknowledged: bool | None = None
    small_response: bool = False


@dataclass(frozen=True)
class ReplicaState:
    """A partition that has no leader, or fewer in-sync replicas than acks=all needs.

    Attributes:
        leader: the broker that leads it; None without a leader.
        replicas: the brokers with a replica.
        in_sync: those whose replicas are in sync.
        alive: the live brokers with a replica.
        min_in_sync: ``min.insync.replicas`` of the topic; None if it could not be read.
        is_internal: whether it is one of Kafka's own topics.
    """

    topic: str
    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    alive: tuple[int, ...]
    min_in_sync: int | None = None
    is_internal: bool = False


@dataclass(frozen=True)
class FencedBroker:
    """A broker that is registered but not alive: the controllers get no heartbeats from it.

    Attributes:
        host: the host that it advertises.
        port: the port that it advertises.
    """

    id: int
    host: str
    port: int

    @property
    def address(self) -> str:
        """The advertised address as ``host:port``."""
        return join(self.host, self.port)


@dataclass(frozen=True)
class Reassignment:
    """A reassignment of a partition that cannot end now.

    Attributes:
        waits_for: the brokers that should get a replica and are not alive.
    """

    topic: str
    partition: int
    waits_for: tuple[int, ...]


@dataclass(frozen=True)
class Throttle:
    """A broker that throttled this client by a quota.

    Attributes:
        throttle_time: seconds that its response asked the client to wait.
    """

    broker: int
    throttle_time: float


@dataclass(frozen=True)
class OwnAddress:
    """An address that a broker is configured to advertise: it has one for each listener."""

    broker: int
    host: str
    port: int

    @property
    def address(self) -> str:
        """The address as ``host:port``."""
        return join(self.host, self.port)


@dataclass(frozen=True)
class ClusterState:
    """What the cluster reports at the end of the checks.

    Attributes:
        alive: the ids of the live brokers.
        watched: seconds since the first metadata.
        partitions: partitions without a leader or with too few in-sync replicas.
        partition_count: the number of all partitions that were looked at.
        throttles: brokers that throttled this client.
        silent_voters: controllers that had not fetched from their leader at either of two looks;
            None if the quorum was looked at only once.
        fenced: brokers that are registered but not alive; they are asked for only if a bootstrap
            server fails, and known from Kafka 4.0 on.
        reassignments: reassignments that wait for a broker that is not alive.
        own_addresses: the addresses that brokers are configured to advertise, of at most ten
            brokers, as far as this principal may see them.
    """

    alive: tuple[int, ...] = ()
    watched: float = 0.0
    partitions: tuple[ReplicaState, ...] = ()
    partition_count: int = 0
    throttles: tuple[Throttle, ...] = ()
    silent_voters: tuple[int, ...] | None = None
    fenced: tuple[FencedBroker, ...] = ()
    reassignments: tuple[Reassignment, ...] = ()
    own_addresses: tuple[OwnAddress, ...] = ()
