"""Findings about latency: of name resolution, of the network, or of a broker.

Connecting takes only the network's time, so the additional time of a request is the broker's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ottla._internal.text import counted, listed
from ottla.doctor.checks.throttles import throttled, throttles_of
from ottla.doctor.connection_facts import Address, Step
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding
from ottla.doctor.steps import all_steps, endpoints_of

# A step that takes longer slows down each connection noticeably.
SLOW_SECONDS = 1.0
# Steps that consist of one exchange with the broker, or a few.
_REQUESTS = {"ApiVersions", "Metadata", "Identity", "Fetch", "ListOffsets"}


@dataclass(frozen=True)
class _Latency:
    """The slowest request on a connection, and the time of connecting.

    Attributes:
        where: the broker or the server.
        check: the check of the slowest request.
        seconds: the time that it took.
        connecting: the time of connecting.
        brokers: the broker's id, if it is a broker.
    """

    where: str
    check: str
    seconds: float
    connecting: float
    brokers: tuple[int, ...] = ()


def judge_speed(facts: Facts) -> Iterator[Finding]:
    """Return the findings about latency, and about checks that the doctor's timeout cut short."""
    yield from _names(facts)
    connections = list(_connections(facts))
    slow = [found for found in connections if found.connecting > SLOW_SECONDS]
    if slow:
        everywhere = len(slow) == len(connections)
        yield Finding(
            "warning",
            "TCP",
            "slow_network",
            f"the network to {'all brokers' if everywhere else _where(slow)} is slow: connecting "
            f"takes up to {max(found.connecting for found in slow):.1f} s",
            "check the network path (VPN, routing, packet loss), not the brokers; if it stays "
            "slow, raise request.timeout.ms and socket.connection.setup.timeout.ms",
            _ids(slow),
            "likely",
        )
    # A quota has a finding of its own.
    waiting = throttled(facts)
    # The quota is the same at each broker, and not each is seen to throttle.
    throttle = max((each.throttle_time for each in throttles_of(facts)), default=0.0)
    busy = [
        found
        for found in connections
        if _own(found) > SLOW_SECONDS + throttle and not waiting.intersection(found.brokers)
        if found.brokers or not waiting
    ]
    if busy:
        requests = listed(
            [f"{found.check} at {found.where} took {found.seconds:.1f} s" for found in busy]
        )
        problem, path = "the brokers are slow, not the network", ""
        if len(_ids(busy)) > 1 and set(_ids(busy)) == {broker.id for broker in facts.brokers}:
            # Connecting to a proxy is quick, however long the path behind it is.
            problem = (
                "all brokers respond late, though connecting is quick, as when all are busy or "
                "behind a slow proxy or tunnel"
            )
            path = "; and the path behind a proxy, a load balancer or a tunnel in front of them"
        yield Finding(
            "warning",
            "TCP",
            "slow_broker",
            f"{problem}: {requests}, connecting at most "
            f"{max(found.connecting for found in busy):.1f} s",
            "check the load of these brokers: CPU, garbage collection, disks, request queues, "
            f"and quotas that throttle this client{path}",
            _ids(busy),
            "likely",
        )
    late = sum(step.reason == "out_of_time" for step in all_steps(facts))
    if late:
        yield Finding(
            "warning",
            "TCP",
            "out_of_time",
            f"{counted(late, 'check')} did not complete before the doctor's timeout ended, which "
            "says nothing about the brokers",
            "allow more time (--timeout)",
        )


def _own(found: _Latency) -> float:
    return found.seconds - found.connecting


def _names(facts: Facts) -> Iterator[Finding]:
    slow = [
        (endpoint.host, endpoint.dns.seconds)
        for _, endpoint in endpoints_of(facts)
        if endpoint.dns.ok and endpoint.dns.seconds > SLOW_SECONDS
    ]
    if slow:
        host, seconds = max(slow, key=lambda found: found[1])
        yield Finding(
            "warning",
            "DNS",
            "slow_names",
            f"name resolution is slow: {host} took {seconds:.1f} s",
            "check this machine's name servers (/etc/resolv.conf): if the first one does not "
            "respond, each lookup takes seconds",
        )


def _connections(facts: Facts) -> Iterator[_Latency]:
    """Return the latency of each connection."""
    for endpoint in facts.bootstrap:
        for address in endpoint.addresses:
            yield from _connection(_server(endpoint.name, address), address, address.steps, ())
    for broker in facts.brokers:
        for address in broker.endpoint.addresses:
            checked = [step for partition in broker.partitions for step in partition.steps]
            where = f"broker {broker.id}"
            yield from _connection(where, address, [*address.steps, *checked], (broker.id,))


def _connection(
    where: str, address: Address, steps: Sequence[Step], brokers: tuple[int, ...]
) -> Iterator[_Latency]:
    connecting = next((step for step in address.steps if step.check == "TCP" and step.ok), None)
    # Through a proxy, the connection to the broker is made by its handshake.
    proxied = next((step for step in address.steps if step.check == "Proxy" and step.ok), None)
    connecting = proxied or connecting
    requests = [step for step in steps if step.ok and step.check in _REQUESTS]
    if connecting is not None:
        slowest = max(requests, key=lambda step: step.seconds, default=connecting)
        yield _Latency(where, slowest.check, slowest.seconds, connecting.seconds, brokers)


def _server(name: str, address: Address) -> str:
    return name if name.startswith((address.ip, "[")) else f"{name} ({address.ip})"


def _where(found: list[_Latency]) -> str:
    return listed(list(dict.fromkeys(one.where for one in found)))


def _ids(found: list[_Latency]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(broker for one in found for broker in one.brokers))
