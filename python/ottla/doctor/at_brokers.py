"""Step three: is each broker there where it tells clients to find it?

The classic trap: the bootstrap server answers, and its metadata sends the client to addresses that
are of no use from where it is. The finding names both sides of the mismatch.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from ottla.doctor.at_port import at_port
from ottla.doctor.facts import Broker, Endpoint, Facts
from ottla.doctor.findings import Finding


def judge_brokers(facts: Facts) -> Iterator[Finding]:
    """Return what is wrong with the brokers' advertised addresses."""
    yield from _judge_identity(facts)
    local = [broker for broker in facts.brokers if kind_of(broker.endpoint.host) == "loopback"]
    working = [broker for broker in local if broker.endpoint.working is not None]
    if working:
        yield Finding(
            "note",
            "Advertised",
            "only_from_here",
            f"{_where(working)}: that is this machine, so only clients on it can use "
            f"{_of(working, 'this broker', 'these brokers')}",
            "",
            _ids(working),
        )
    alike: dict[tuple[str, str, str], list[Broker]] = {}
    for broker in facts.brokers:
        check, reason = _failure(broker.endpoint)
        if check:
            kind = kind_of(broker.endpoint.host)
            alike.setdefault((check, reason, kind), []).append(broker)
    for (check, _, kind), brokers in alike.items():
        if check == "DNS":
            yield _unresolved(facts, brokers)
        elif check == "TCP":
            yield _unreachable(facts, brokers, kind)
        else:
            for broker in brokers:
                yield _wrong_port(broker, facts.security_protocol)
    yield from _judge_large_requests(facts)


def _failure(endpoint: Endpoint) -> tuple[str, str]:
    """Return the check and the reason by which a broker cannot be used; empty if it can be."""
    if endpoint.working is not None or endpoint.out_of_time:
        return "", ""
    if not endpoint.dns.ok:
        return "DNS", endpoint.dns.reason or ""
    if endpoint.failure is None:
        return "", ""
    _, step = endpoint.failure
    return step.check, step.reason or ""


def _where(brokers: list[Broker]) -> str:
    named = [f"broker {broker.id} advertises {broker.endpoint.name}" for broker in brokers[:5]]
    more = f" and {len(brokers) - 5} more brokers likewise" if len(brokers) > 5 else ""
    return ", ".join(named) + more


def _answered(facts: Facts) -> str:
    """Return where the bootstrap server was found that answered."""
    for server in facts.bootstrap:
        if server.working is not None:
            return f"bootstrap answered at {server.name}"
    return "bootstrap answered"


def _ids(brokers: list[Broker]) -> tuple[int, ...]:
    return tuple(broker.id for broker in brokers)


def _of(brokers: list[Broker], one: str, many: str) -> str:
    return many if len(brokers) > 1 else one


def _unresolved(facts: Facts, brokers: list[Broker]) -> Finding:
    hint = ""
    if all("." not in broker.endpoint.host for broker in brokers):
        like = _of(brokers, "it looks like the name", "they look like names")
        hint = f"; {like} of a container, which only its own network knows"
    return Finding(
        "error",
        "Advertised",
        "advertised_unresolved",
        f"{_answered(facts)}, but {_where(brokers)}: "
        f"{_of(brokers, 'that name', 'these names')} cannot be resolved here{hint}",
        "make each name known to clients by DNS or /etc/hosts, or have the broker advertise one "
        "that they know (advertised.listeners)",
        _ids(brokers),
    )


def _unreachable(facts: Facts, brokers: list[Broker], kind: str) -> Finding:
    step = next(
        address.failure for address in brokers[0].endpoint.addresses if address.failure is not None
    )
    why = {
        "refused": _of(brokers, "refuses connections", "refuse connections"),
        "timed_out": _of(brokers, "does not answer", "do not answer"),
        "unreachable": "cannot be routed to",
    }.get(step.reason or "", step.message or "fails")
    subject = f"{_answered(facts)}, but {_where(brokers)}, which {why}"
    if _reached_alike(facts, kind):
        return Finding(
            "error",
            "Advertised",
            "broker_unreachable",
            f"{subject}; other brokers of the same kind of address are reached",
            "check that the broker runs, that it listens there, and that no firewall is in between",
            _ids(brokers),
        )
    it = _of(brokers, "it", "them")
    meaning = {
        "loopback": "localhost is the client's own machine, so clients elsewhere cannot reach it",
        "private": f"{_of(brokers, 'that address is', 'these addresses are')} private, so clients "
        f"outside of that network cannot reach {it}",
        "link-local": f"{_of(brokers, 'that address holds', 'these addresses hold')} on one link "
        f"only, so clients elsewhere cannot reach {it}",
        "unspecified": "that is no address that can be connected to",
        "container": f"{_of(brokers, 'that looks like the name', 'these look like names')} of a "
        f"container, so clients outside of its network cannot reach {it}",
    }.get(kind)
    return Finding(
        "error",
        "Advertised",
        f"advertised_{kind}" if meaning else "advertised_unreachable",
        f"{subject}: {meaning}" if meaning else subject,
        "have each broker advertise an address that these clients can reach "
        "(advertised.listeners, with a listener for each network of clients), or give them a "
        "route: routing, VPN, firewalls, security groups",
        _ids(brokers),
    )


def _reached_alike(facts: Facts, kind: str) -> bool:
    """Return whether another broker of the same kind of address works: then the kind is not it."""
    return any(
        broker.endpoint.working is not None and kind_of(broker.endpoint.host) == kind
        for broker in facts.brokers
    )


def _judge_large_requests(facts: Facts) -> Iterator[Finding]:
    """Return the brokers that only small requests reach."""
    lost = [
        (broker, address, step)
        for broker in facts.brokers
        for address in broker.endpoint.addresses
        for step in address.steps
        if step.reason == "large_requests_lost"
    ]
    if lost:
        brokers = list({broker.id: broker for broker, _, _ in lost}.values())
        found = at_port(_where(brokers), *lost[0][1:])
        yield Finding("error", found.phase, found.code, found.summary, found.fix, _ids(brokers))


def _wrong_port(broker: Broker, protocol: str) -> Finding:
    assert broker.endpoint.failure is not None
    address, step = broker.endpoint.failure
    subject = f"broker {broker.id}, at the address {broker.endpoint.name} that it advertises,"
    found = at_port(subject, address, step, protocol=protocol)
    return Finding("error", found.phase, found.code, found.summary, found.fix, (broker.id,))


def _judge_identity(facts: Facts) -> Iterator[Finding]:
    """Return whether one address stands for several brokers, or leads to the wrong one."""
    by_address: dict[str, list[Broker]] = {}
    for broker in facts.brokers:
        by_address.setdefault(broker.endpoint.name, []).append(broker)
    shared: set[int] = set()
    for name, brokers in by_address.items():
        own = kind_of(brokers[0].endpoint.host) == "loopback"
        # On hosts of their own, brokers may all call themselves localhost: no balancer does that.
        if len(brokers) < 2 or (own and brokers[0].endpoint.working is None):
            continue
        shared |= set(_ids(brokers))
        ids = ", ".join(str(broker.id) for broker in brokers)
        yield Finding(
            "error",
            "Advertised",
            "one_address_for_all",
            f"brokers {ids} all advertise {name}: one address (a balancer, a virtual IP) stands in "
            "front of all of them, so a client that wants a partition's leader gets any of them",
            "a balancer may stand in front of the bootstrap servers only: give each broker an "
            "advertised address of its own, by a name or by a port (advertised.listeners)",
            _ids(brokers),
        )
    for broker in facts.brokers:
        wrong = [
            address
            for address in broker.endpoint.addresses
            if any(step.reason == "another_broker" for step in address.steps)
        ]
        if wrong and broker.id not in shared:
            yield Finding(
                "error",
                "Advertised",
                "another_broker",
                f"{_where([broker])}, but {_who(wrong[0].node)} answers there",
                "correct the broker's advertised.listeners, or where that address is forwarded to: "
                "a balancer or a virtual IP must not choose between brokers",
                (broker.id,),
            )
        yield from _judge_cluster(facts, broker)


def _who(node: int | None) -> str:
    return "another broker" if node is None else f"broker {node}"


def _judge_cluster(facts: Facts, broker: Broker) -> Iterator[Finding]:
    ours = facts.cluster.cluster_id if facts.cluster is not None else None
    view = broker.endpoint.working.view if broker.endpoint.working is not None else None
    if view is not None and None not in {ours, view.cluster_id} and view.cluster_id != ours:
        yield Finding(
            "error",
            "Advertised",
            "another_cluster",
            f"{_where([broker])}, but a broker of another cluster answers there "
            f"({view.cluster_id}, not {ours})",
            "correct the broker's advertised.listeners, or where that address is forwarded to",
            (broker.id,),
        )


def kind_of(host: str) -> str:
    """Return what kind of address a host is: loopback, private, …, name, or container."""
    if host == "localhost" or host.endswith(".localhost"):
        return "loopback"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        internal = "." not in host or host.endswith((".internal", ".local"))
        return "container" if internal else "name"
    if address.is_unspecified:
        return "unspecified"
    if address.is_loopback:
        return "loopback"
    if address.is_link_local:
        return "link-local"
    return "private" if address.is_private else "public"
