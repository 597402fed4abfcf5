"""The results of the checks as frozen dataclasses, ready for JSON, without conclusions."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ottla._internal.text import join
from ottla.doctor.state_facts import ClusterState, Responder

_T = TypeVar("_T")

# The checks of a connection, in order.
CHECKS = ("DNS", "TCP", "TLS", "ApiVersions", "SASL", "Metadata", "Identity", "LargeRequest")


@dataclass(frozen=True)
class Step:
    """One check of a connection.

    Attributes:
        check: DNS, TCP, TLS, ApiVersions, SASL, Metadata, Identity, LargeRequest, ListOffsets,
            Fetch, FindCoordinator, DescribeGroups or DescribeQuorum.
        seconds: its duration.
        reason: why it failed, for programs (``refused``, ``timed_out``, …); None if it passed.
        message: why it failed, for people.
        code: Kafka's name of the broker's error code, if it returned one.
        attempts: how often it was tried. One time-out shows less than two.
    """

    check: str
    seconds: float
    reason: str | None = None
    message: str | None = None
    code: str | None = None
    attempts: int = 1

    @property
    def ok(self) -> bool:
        """Whether the check passed."""
        return self.reason is None


class _Checked:
    """Something that was checked step by step, up to the first failure."""

    steps: tuple[Step, ...]

    @property
    def failure(self) -> Step | None:
        """The check that failed, or None."""
        return next((step for step in self.steps if not step.ok), None)


@dataclass(frozen=True)
class BrokerView:
    """A broker as the metadata describes it, with its advertised address."""

    id: int
    host: str
    port: int
    rack: str | None = None

    @property
    def address(self) -> str:
        """The advertised address as ``host:port``."""
        return join(self.host, self.port)


@dataclass(frozen=True)
class View:
    """The cluster as one broker describes it."""

    cluster_id: str | None
    brokers: tuple[BrokerView, ...]


@dataclass(frozen=True)
class Tls:
    """What the TLS handshake showed, whether or not it succeeded.

    Attributes:
        version: the negotiated version, such as ``TLSv1.3``.
        cipher: the negotiated cipher suite.
        subject: the subject of the broker's certificate.
        issuer: its issuer.
        names: the host names and addresses that it is valid for.
        not_after: the end of its validity, in seconds since 1970.
        client_certificate_requested: whether the broker requested a client certificate.
    """

    version: str | None = None
    cipher: str | None = None
    subject: str | None = None
    issuer: str | None = None
    names: tuple[str, ...] = ()
    not_after: float | None = None
    client_certificate_requested: bool = False


@dataclass(frozen=True)
class Address(_Checked):
    """One IP address of a server's name, and its checks.

    Attributes:
        steps: the checks, up to the first that failed.
        tls: what the TLS handshake showed, if TLS is configured.
        apis: by API, the lowest and the highest version that the broker supports.
        release: the oldest release of Kafka that supports all of them.
        mechanisms: the SASL mechanisms that the listener offers, if known.
        view: the cluster as this broker describes it.
        node: the id of the broker that responds, if known.
        responder: what responded instead of a Kafka broker, if that was checked.
    """

    ip: str
    port: int
    steps: tuple[Step, ...]
    tls: Tls | None = None
    apis: Mapping[str, tuple[int, int]] = dataclasses.field(default_factory=dict)
    release: str | None = None
    mechanisms: tuple[str, ...] = ()
    view: View | None = None
    node: int | None = None
    responder: Responder | None = None


@dataclass(frozen=True)
class Endpoint:
    """A server's name, and the checks of its IP addresses."""

    host: str
    port: int
    dns: Step
    addresses: tuple[Address, ...] = ()

    @property
    def name(self) -> str:
        """The server as ``host:port``."""
        return join(self.host, self.port)

    @property
    def working(self) -> Address | None:
        """The first address that passed all checks, or None."""
        return next((address for address in self.addresses if address.view is not None), None)

    @property
    def out_of_time(self) -> bool:
        """Whether the doctor's timeout ended before there was any result."""
        if self.working is not None:
            return False
        steps = [self.dns, *(address.failure for address in self.addresses)]
        failed = [step for step in steps if step is not None and not step.ok]
        return bool(failed) and all(step.reason == "out_of_time" for step in failed)

    @property
    def failure(self) -> tuple[Address, Step] | None:
        """The failed address that passed the most checks, and the check that failed; or None."""
        failed = [(address, address.failure) for address in self.addresses]
        known = [(address, step) for address, step in failed if step is not None]
        # A host without IPv6 cannot reach IPv6 addresses, which says least about the server.
        return max(
            known,
            key=lambda pair: (CHECKS.index(pair[1].check), pair[1].reason != "unreachable"),
            default=None,
        )


@dataclass(frozen=True)
class PartitionCheck(_Checked):
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
class Quorum(_Checked):
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
class Coordinator(_Checked):
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


@dataclass(frozen=True)
class Recovery:
    """A check that timed out once and passed when it was repeated.

    Attributes:
        server: the server's address as ``host:port``.
        check: the check.
        broker: the id of the broker, or None for a bootstrap server.
    """

    server: str
    check: str
    broker: int | None = None


@dataclass(frozen=True)
class Facts:
    """All facts.

    Attributes:
        cluster: the view of the first server that responded.
        quorum: the quorum of KRaft controllers; None if there is none or it is not reported.
        state: what the cluster reports at the end of the checks; None if it could not be asked.
        recovered: checks that timed out once and passed when they were repeated.
    """

    security_protocol: str
    bootstrap: tuple[Endpoint, ...]
    cluster: View | None = None
    topics: Topics | None = None
    brokers: tuple[Broker, ...] = ()
    coordinator: Coordinator | None = None
    quorum: Quorum | None = None
    open_transactions: tuple[OpenTransaction, ...] = ()
    seconds: float = 0.0
    state: ClusterState | None = None
    recovered: tuple[Recovery, ...] = ()


def facts_from(values: Mapping[str, Any]) -> Facts:
    """Return the facts from the core's plain values."""
    return _typed(Facts, values)


def _typed(kind: type[_T], value: Mapping[str, Any]) -> _T:
    hints = get_type_hints(kind)
    return kind(**{name: _value(hints[name], item) for name, item in value.items()})


def _value(hint: Any, value: Any) -> Any:
    """Convert a plain value to its field's type."""
    if value is None:
        return None
    if get_origin(hint) in {Union, types.UnionType}:
        hint = next(part for part in get_args(hint) if part is not type(None))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _typed(hint, value)
    if get_origin(hint) is tuple:
        parts = get_args(hint)
        if parts[1:] == (...,):
            return tuple(_value(parts[0], item) for item in value)
        return tuple(_value(part, item) for part, item in zip(parts, value, strict=True))
    return value
