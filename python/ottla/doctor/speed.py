"""What is slow: names, the network, or a broker. Connecting takes the network's time alone, so what
requests take beyond it is the broker's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ottla.doctor.facts import Address, Endpoint, Facts, Step
from ottla.doctor.findings import Finding

# A step that takes longer makes each connection slow enough to be felt.
SLOW_SECONDS = 1.0
# Steps whose time is one exchange with the broker, or a few.
_REQUESTS = {"ApiVersions", "Metadata", "Identity", "Fetch", "ListOffsets"}


@dataclass(frozen=True)
class _Slow:
    """A place, what was slow there, and how long it took."""

    place: str
    check: str
    seconds: float
    connecting: float
    brokers: tuple[int, ...] = ()


def judge_speed(facts: Facts) -> Iterator[Finding]:
    """Return what is slow, by its cause, and what was left out for want of time."""
    yield from _names(facts)
    connections = list(_connections(facts))
    slow = [found for found in connections if found.connecting > SLOW_SECONDS]
    if slow:
        everywhere = len(slow) == len(connections)
        yield Finding(
            "warning",
            "TCP",
            "slow_network",
            f"the network to {'all brokers' if everywhere else _places(slow)} is slow: connecting "
            f"takes up to {max(found.connecting for found in slow):.1f} s",
            "look at the network on the way (VPN, routing, packet loss); the brokers are not to "
            "blame; raise request.timeout.ms and socket.connection.setup.timeout.ms if it stays",
            _ids(slow),
        )
    busy = [found for found in connections if _own(found) > SLOW_SECONDS]
    if busy:
        named = ", ".join(
            f"{found.check} at {found.place} took {found.seconds:.1f} s" for found in busy[:5]
        )
        more = f" and {len(busy) - 5} more" if len(busy) > 5 else ""
        yield Finding(
            "warning",
            "TCP",
            "slow_broker",
            f"brokers respond slowly, not the network: {named}{more}, connecting at most "
            f"{max(found.connecting for found in busy):.1f} s",
            "look at the load of these brokers: CPU, garbage collection, disks, request queues, "
            "and quotas that throttle this client",
            _ids(busy),
        )
    late = sum(step.reason == "out_of_time" for step in _all_steps(facts))
    if late:
        yield Finding(
            "warning",
            "TCP",
            "out_of_time",
            f"{late} checks could not be made or finished: the doctor's own time was over, which "
            "says nothing about the brokers",
            "give it more time (--timeout)",
        )


def _own(found: _Slow) -> float:
    return found.seconds - found.connecting


def _names(facts: Facts) -> Iterator[Finding]:
    slow = [
        (endpoint.host, endpoint.dns.seconds)
        for endpoint in _endpoints(facts)
        if endpoint.dns.ok and endpoint.dns.seconds > SLOW_SECONDS
    ]
    if slow:
        host, seconds = max(slow, key=lambda found: found[1])
        yield Finding(
            "warning",
            "DNS",
            "slow_names",
            f"resolving names is slow: {host} took {seconds:.1f} s",
            "look at the name servers that this machine asks (/etc/resolv.conf): a first one that "
            "does not answer costs seconds for each name",
        )


def _connections(facts: Facts) -> Iterator[_Slow]:
    """Return each connection with the slowest of its requests."""
    for endpoint in facts.bootstrap:
        for address in endpoint.addresses:
            yield from _connection(_place(endpoint.name, address), address, address.steps, ())
    for broker in facts.brokers:
        for address in broker.endpoint.addresses:
            checked = [step for partition in broker.partitions for step in partition.steps]
            place = f"broker {broker.id}"
            yield from _connection(place, address, [*address.steps, *checked], (broker.id,))


def _connection(
    place: str, address: Address, steps: Sequence[Step], brokers: tuple[int, ...]
) -> Iterator[_Slow]:
    connecting = next((step for step in address.steps if step.check == "TCP" and step.ok), None)
    requests = [step for step in steps if step.ok and step.check in _REQUESTS]
    if connecting is not None:
        slowest = max(requests, key=lambda step: step.seconds, default=connecting)
        yield _Slow(place, slowest.check, slowest.seconds, connecting.seconds, brokers)


def _place(name: str, address: Address) -> str:
    return name if name.startswith((address.ip, "[")) else f"{name} ({address.ip})"


def _places(found: list[_Slow], limit: int = 5) -> str:
    places = list(dict.fromkeys(one.place for one in found))
    more = f" and {len(places) - limit} more" if len(places) > limit else ""
    return ", ".join(places[:limit]) + more


def _ids(found: list[_Slow]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(broker for one in found for broker in one.brokers))


def _endpoints(facts: Facts) -> Iterator[Endpoint]:
    yield from facts.bootstrap
    yield from (broker.endpoint for broker in facts.brokers)


def _all_steps(facts: Facts) -> Iterator[Step]:
    for endpoint in _endpoints(facts):
        yield endpoint.dns
        for address in endpoint.addresses:
            yield from address.steps
    for broker in facts.brokers:
        for checked in broker.partitions:
            yield from checked.steps
    for found in (facts.coordinator, facts.quorum):
        yield from () if found is None else found.steps
    if facts.topics is not None:
        yield facts.topics.step
