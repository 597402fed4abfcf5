"""What the checks found of the cluster: brokers, topics, partitions, groups and transactions.

Invariant: these are frozen dataclasses, ready for JSON, without conclusions.
"""

from __future__ import annotations

from dataclasses import dataclass

from ottla.doctor.connection_facts import Checked, Endpoint, Step


@dataclass(frozen=True)
class PartitionCheck(Checked):
    """One partition, checked at its leader.

    Attributes:
        steps: the checks, up to the first that failed.
        start: the log's first offset.
        end: its end offset.
        leader_now: the leader that the broker names after it rejected the request.
    """

    topic: str
    partition: int
    steps: tuple[Step, ...]
    start: int | None = None
    end: int | None = None
    leader_now: int | None = None


@dataclass(frozen=True)
class LogDir:
    """A log directory of a broker.

    Attributes:
        path: the path on the broker.
        error: Kafka's name of the error that the broker reports for it.
        total_bytes: the size of its volume; None before Kafka 3.3.
        usable_bytes: the bytes that are free; None before Kafka 3.3.
    """

    path: str
    error: str | None = None
    total_bytes: int | None = None
    usable_bytes: int | None = None


@dataclass(frozen=True)
class Broker:
    """A broker of the cluster, and its checks.

    Attributes:
        leads: how many of the described partitions it leads.
        endpoint: the checks of its advertised address.
        partitions: the checked partitions that it leads.
        replicas: how many replicas of the described partitions it hosts.
        log_dirs: its log directories, if it reports them.
    """

    id: int
    rack: str | None
    leads: int
    endpoint: Endpoint
    partitions: tuple[PartitionCheck, ...] = ()
    replicas: int = 0
    log_dirs: tuple[LogDir, ...] = ()


@dataclass(frozen=True)
class Voter:
    """A voter of the KRaft quorum.

    Attributes:
        lag_ms: how far its metadata log lags behind the leader's; None if unknown.
    """

    id: int
    lag_ms: int | None = None


@dataclass(frozen=True)
class Quorum(Checked):
    """The quorum of KRaft controllers.

    Attributes:
        steps: the checks, up to the first that failed.
        leader: the active controller.
        voters: the voters.
    """

    steps: tuple[Step, ...]
    leader: int | None = None
    voters: tuple[Voter, ...] = ()


@dataclass(frozen=True)
class Topics:
    """What the metadata says about topics.

    Attributes:
        step: the check of fetching them.
        name: the requested topic; None for all topics.
        error: Kafka's name of that topic's error.
        topics: the number of topics.
        partitions: the number of their partitions.
        leaderless: the first partitions without a leader.
        leaderless_count: the number of partitions without a leader.
        under_replicated: the number of partitions with out-of-sync replicas.
        missing_brokers: brokers that host replicas but are down, each with the number of its
            replicas.
    """

    step: Step
    name: str | None = None
    error: str | None = None
    topics: int = 0
    partitions: int = 0
    leaderless: tuple[tuple[str, int], ...] = ()
    leaderless_count: int = 0
    under_replicated: int = 0
    missing_brokers: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Coordinator(Checked):
    """The coordinator of a group; ``state`` is Kafka's name of the group's state."""

    group: str
    steps: tuple[Step, ...]
    broker: int | None = None
    state: str | None = None
    members: int | None = None


@dataclass(frozen=True)
class OpenTransaction:
    """A transaction that is open in a partition, so that its last stable offset stays behind.

    Attributes:
        start_offset: the transaction's first offset in the partition.
        last_timestamp: the time of the producer's last batch, in milliseconds since 1970.
        transactional_id: None if no coordinator lists the producer, or not to this principal.
        start_time: when the transaction was opened, in milliseconds since 1970.
        timeout: seconds after which its coordinator aborts it.
        is_hanging: whether no coordinator knows that it is open here, so that none will end it.
    """

    topic: str
    partition: int
    start_offset: int
    producer_id: int
    last_timestamp: int | None = None
    transactional_id: str | None = None
    start_time: int | None = None
    timeout: float | None = None
    is_hanging: bool = False
