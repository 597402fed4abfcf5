"""Step three: can each broker be reached at its advertised address, and is it the right broker?

A common trap: the bootstrap server works, but its metadata sends the client to addresses that are
useless from where it runs. The finding names both sides of the mismatch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ottla._internal.text import listed
from ottla.doctor.certainty import certainty_of
from ottla.doctor.checks.addresses import advertised, ids_of, kind_of
from ottla.doctor.checks.gateways import has_gateway, unreachable_behind_gateway
from ottla.doctor.checks.identity import judge_identity, judge_unspecified
from ottla.doctor.checks.large_requests import judge_large_requests
from ottla.doctor.checks.liveness import is_alive
from ottla.doctor.checks.port import ipv6_finding, port_finding
from ottla.doctor.checks.proxies import proxy_finding
from ottla.doctor.cluster_facts import Broker
from ottla.doctor.connection_facts import Endpoint
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding

# Failures of a port that speaks Kafka, but not as configured.
_OTHER_PROTOCOLS = {
    "speaks_tls": "speaks TLS",
    "speaks_plaintext": "speaks plaintext",
    "wants_sasl": "requires SASL",
    "without_sasl": "does not use SASL",
}


def judge_brokers(facts: Facts) -> Iterator[Finding]:
    """Return the findings about the brokers' advertised addresses."""
    yield from judge_identity(facts)
    local = [broker for broker in facts.brokers if kind_of(broker.endpoint.host) == "loopback"]
    working = [broker for broker in local if broker.endpoint.working is not None]
    if working:
        yield _only_from_here(facts, working)
    yield from judge_unspecified(facts)
    alike: dict[tuple[str, str, str], list[Broker]] = {}
    for broker in facts.brokers:
        check, reason = _failure(broker.endpoint)
        if check:
            kind = kind_of(broker.endpoint.host)
            alike.setdefault((check, reason, kind), []).append(broker)
    for (check, reason, kind), brokers in alike.items():
        if reason == "proxy_unreachable":
            yield from _no_proxy(brokers)
        elif check == "DNS":
            yield _unresolved(facts, brokers)
        elif check == "TCP":
            yield _unreachable(facts, brokers, kind)
        else:
            for broker in brokers:
                yield _wrong_port(facts, broker)
    yield from judge_large_requests(facts)


def _only_from_here(facts: Facts, brokers: list[Broker]) -> Finding:
    subject, fix = _plural(brokers, "this broker", "these brokers"), ""
    if has_gateway(facts):
        subject = "the brokers through this gateway"
        fix = "for others, let it listen at and advertise another address (--listen, --advertise)"
    return Finding(
        "note",
        "Advertised",
        "only_from_here",
        f"{_addresses(facts, brokers)}: only clients on this machine can reach {subject}",
        fix,
        ids_of(brokers),
    )


def _addresses(facts: Facts, brokers: list[Broker]) -> str:
    """Return a clause about the brokers' addresses, which a gateway may have in their place."""
    if not has_gateway(facts):
        return advertised(brokers)
    return listed([f"broker {broker.id} is at {broker.endpoint.name}" for broker in brokers])


def _failure(endpoint: Endpoint) -> tuple[str, str]:
    """Return the check and the reason for which a broker cannot be used; empty if it can."""
    if endpoint.working is not None or endpoint.out_of_time:
        return "", ""
    if not endpoint.dns.ok:
        return "DNS", endpoint.dns.reason or ""
    if endpoint.failure is None:
        return "", ""
    _, step = endpoint.failure
    return step.check, step.reason or ""


def _no_proxy(brokers: list[Broker]) -> Iterator[Finding]:
    """Return the finding about the proxy, which is the same for all brokers."""
    endpoint = brokers[0].endpoint
    step = endpoint.dns if endpoint.failure is None else endpoint.failure[1]
    found = proxy_finding(advertised(brokers), step, "Advertised", "error")
    if found is not None:
        yield dataclasses.replace(found, brokers=ids_of(brokers))


def _working_bootstrap(facts: Facts) -> str:
    """Return a clause about the bootstrap server that works."""
    for server in facts.bootstrap:
        if server.working is not None:
            return f"bootstrap server {server.name} works"
    return "bootstrapping works"


def _plural(brokers: list[Broker], one: str, many: str) -> str:
    return many if len(brokers) > 1 else one


def _unresolved(facts: Facts, brokers: list[Broker]) -> Finding:
    hint = ""
    if all("." not in broker.endpoint.host for broker in brokers):
        hint = _plural(
            brokers,
            "; it looks like the name of a container, which is known only in the container's "
            "network",
            "; they look like names of containers, which are known only in the containers' network",
        )
    elif all(broker.endpoint.host.endswith(".") for broker in brokers):
        hint = (
            "; the dot at the end makes a name absolute: /etc/hosts and search domains may not "
            "match it"
        )
    return Finding(
        "error",
        "Advertised",
        "advertised_unresolved",
        f"{_working_bootstrap(facts)}, but {advertised(brokers)}: "
        f"{_plural(brokers, 'this name', 'these names')} cannot be resolved on this machine{hint}",
        "add each name to the clients' DNS or /etc/hosts, or let the brokers advertise names that "
        "the clients can resolve (advertised.listeners)",
        ids_of(brokers),
    )


def _unreachable(facts: Facts, brokers: list[Broker], kind: str) -> Finding:
    step = next(
        address.failure for address in brokers[0].endpoint.addresses if address.failure is not None
    )
    why = {
        "refused": _plural(brokers, "refuses connections", "refuse connections"),
        "timed_out": _plural(brokers, "does not respond", "do not respond"),
        "unreachable": _plural(brokers, "has no route from here", "have no route from here"),
    }.get(step.reason or "", f"{_plural(brokers, 'fails', 'fail')} ({step.message})")
    address = brokers[0].endpoint.failure
    ipv6 = address and ipv6_finding(advertised(brokers), *address, "error")
    if ipv6:
        summary = f"{_working_bootstrap(facts)}, but {advertised(brokers)}: " + _plural(
            brokers, "this name has", "these names have"
        )
        summary += ipv6.summary.removeprefix(f"{advertised(brokers)} has")
        return dataclasses.replace(
            ipv6, phase="Advertised", summary=summary, brokers=ids_of(brokers)
        )
    subject = f"{_working_bootstrap(facts)}, but {advertised(brokers)}, which {why}"
    if _kind_works(facts, kind):
        return Finding(
            "error",
            "Advertised",
            "broker_unreachable",
            f"{subject}; other brokers with the same kind of address can be reached",
            "check that the broker is running and listens there, and that no firewall is in "
            "between",
            ids_of(brokers),
            certainty_of(step),
        )
    if step.reason == "refused" and kind not in {"loopback", "unspecified"}:
        return _refused(brokers, subject)
    meaning = {
        "loopback": "a loopback address is the client's own machine, so clients on other machines "
        f"cannot reach {_plural(brokers, 'the broker', 'the brokers')}",
        "private": _plural(
            brokers,
            "this address is private, so clients outside its network cannot reach it",
            "these addresses are private, so clients outside their network cannot reach them",
        ),
        "link-local": _plural(
            brokers,
            "this address is valid on one link only, so clients elsewhere cannot reach it",
            "these addresses are valid on one link only, so clients elsewhere cannot reach them",
        ),
        "unspecified": "clients cannot connect to the unspecified address",
        "container": _plural(
            brokers,
            "this looks like the name of a container, so clients outside its network cannot reach "
            "it",
            "these look like names of containers, so clients outside their network cannot reach "
            "them",
        ),
    }.get(kind)
    return Finding(
        "error",
        "Advertised",
        f"advertised_{kind}" if meaning else "advertised_unreachable",
        f"{subject}: {meaning}" if meaning else subject,
        "let each broker advertise an address that its clients can reach (advertised.listeners, "
        "with a listener for each client network), or give the clients a route: routing, VPN, "
        "firewalls, security groups",
        ids_of(brokers),
        # That the kind of the address is the cause is a conclusion, unless nothing could be there.
        "certain"
        if step.reason in {"refused", "unreachable"} or kind == "unspecified"
        else "likely",
    )


def _refused(brokers: list[Broker], subject: str) -> Finding:
    """Return the finding for addresses where a machine responds: the way to it is right."""
    return Finding(
        "error",
        "Advertised",
        "advertised_refused",
        f"{subject}: a machine responds at {_plural(brokers, 'this address', 'these addresses')}, "
        f"so {_plural(brokers, 'it', 'they')} can be reached, but nothing listens at the "
        f"{_plural(brokers, 'port', 'ports')}, or a firewall rejects connections",
        "behind a proxy, a tunnel or a port forwarding, forward each broker's advertised port too, "
        "not only the bootstrap port; otherwise correct the port in advertised.listeners, or start "
        "the broker that should listen there",
        ids_of(brokers),
    )


def _kind_works(facts: Facts, kind: str) -> bool:
    """Return whether a broker with this kind of address works, so that the kind is not at fault."""
    return any(
        broker.endpoint.working is not None and kind_of(broker.endpoint.host) == kind
        for broker in facts.brokers
    )


def _wrong_port(facts: Facts, broker: Broker) -> Finding:
    assert broker.endpoint.failure is not None
    address, step = broker.endpoint.failure
    if step.reason in _OTHER_PROTOCOLS:
        return _other_protocol(facts, broker, step.reason)
    if step.check == "Metadata" and step.reason == "closed":
        # The core's message suggests SASL, which the cluster's other listener does without.
        step = dataclasses.replace(
            step,
            message="the connection is closed at the request, or in the middle of its response",
        )
    if step.check == "ApiVersions" and step.reason == "closed" and has_gateway(facts):
        return unreachable_behind_gateway(broker)
    subject = f"broker {broker.id} at its advertised address {broker.endpoint.name}"
    found = port_finding(
        subject,
        address,
        step,
        protocol=facts.security_protocol,
        alive=is_alive(facts, broker.id),
    )
    return dataclasses.replace(found, brokers=(broker.id,))


def _other_protocol(facts: Facts, broker: Broker, reason: str) -> Finding:
    """Return the finding for a listener that advertises the port of another listener.

    Another security.protocol would not help: the bootstrap server works with this one.
    """
    protocol = facts.security_protocol
    return Finding(
        "error",
        "Advertised",
        "advertised_protocol",
        f"{_working_bootstrap(facts)} with security.protocol {protocol}, but "
        f"{advertised([broker])}, which {_OTHER_PROTOCOLS[reason]}: the listener advertises the "
        "port of another listener",
        f"let this listener advertise a port that speaks {protocol} (advertised.listeners); or use "
        "the other listener for both, as bootstrap server and with its security.protocol: to "
        "change security.protocol alone breaks the bootstrap",
        (broker.id,),
    )
