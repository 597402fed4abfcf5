"""What the checks of connections found: their steps, and what the servers reported.

Invariant: these are frozen dataclasses, ready for JSON, without conclusions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from ottla._internal.text import join
from ottla.doctor.state_facts import Responder

# The checks of a connection, in order.
CHECKS = (
    "DNS",
    "TCP",
    "Proxy",
    "TLS",
    "ApiVersions",
    "SASL",
    "Metadata",
    "Identity",
    "LargeRequest",
)


@dataclass(frozen=True)
class Step:
    """One check of a connection.

    Attributes:
        check: DNS, TCP, Proxy, TLS, ApiVersions, SASL, Metadata, Identity, LargeRequest,
            ListOffsets, Fetch, FindCoordinator, DescribeGroups or DescribeQuorum.
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


class Checked:
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
class Address(Checked):
    """One IP address of a server's name, or of the proxy's, and its checks.

    Attributes:
        steps: the checks, up to the first that failed.
        tls: what the TLS handshake showed, if TLS is configured.
        apis: by API, the lowest and the highest version that the broker supports.
        release: the oldest release of Kafka that supports all of them.
        mechanisms: the SASL mechanisms that the listener offers, if known.
        view: the cluster as this broker describes it.
        node: the id of the broker that responds, if known.
        other_clusters: the ids of other clusters whose brokers respond at further connections.
        other_nodes: other brokers that respond at further connections to an advertised address;
            None is one whose id is not known.
        responder: what responded instead of a Kafka broker, if that was checked.
        gateway: the version of the ``ottla gateway`` that responds for the broker, or None.
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
    other_clusters: tuple[str, ...] = ()
    other_nodes: tuple[int | None, ...] = ()
    responder: Responder | None = None
    gateway: str | None = None


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
