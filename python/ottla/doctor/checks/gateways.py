"""Does something between this client and the brokers replace their addresses, as a gateway does?

`ottla gateway` says so itself. Invariant: a cluster that is reached directly is never taken for one
behind another proxy: each broker that was asked must advertise other addresses than the metadata
has for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ottla._internal.text import listed
from ottla.doctor.cluster_facts import Broker
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Certainty, Finding


def has_gateway(facts: Facts) -> bool:
    """Return whether a gateway responds, or no address is one that the brokers advertise."""
    return bool(_versions(facts) or _replaced(facts))


def judge_gateway(facts: Facts) -> Iterator[Finding]:
    """Return the note about a gateway, or about addresses that are those of one."""
    versions, replaced = _versions(facts), _replaced(facts)
    own = [f"broker {broker} itself advertises {addresses}" for broker, addresses in replaced]
    certainty: Certainty = "certain"
    if versions:
        summary = f"the brokers are behind ottla gateway {listed(versions)}"
    elif replaced:
        certainty = "likely"
        summary = (
            "these addresses look like those of a gateway, or of another proxy that replaces the "
            "brokers' addresses"
        )
    else:
        return
    yield Finding(
        "note",
        "Advertised",
        "gateway",
        f"{summary}: {listed(own)}" if own else summary,
        brokers=tuple(broker for broker, _ in replaced),
        certainty=certainty,
    )


def unreachable_behind_gateway(broker: Broker) -> Finding:
    """Return the finding for a broker whose connections the gateway closes at the first request."""
    return Finding(
        "error",
        "Advertised",
        "unreachable_behind_gateway",
        f"broker {broker.id} at {broker.endpoint.name} closes connections at the first request, "
        "while other brokers behind the same gateway respond: so does a gateway that cannot reach "
        "the broker",
        "check that the broker is running, and that the gateway's host reaches the address that "
        "the broker itself advertises; what `ottla gateway` writes to standard error has the "
        "reason",
        (broker.id,),
        certainty="likely",
    )


def _versions(facts: Facts) -> list[str]:
    """Return the versions of the gateways that respond, each once."""
    servers = [*facts.bootstrap, *(broker.endpoint for broker in facts.brokers)]
    addresses = (address for server in servers for address in server.addresses)
    return sorted({address.gateway for address in addresses if address.gateway is not None})


def _replaced(facts: Facts) -> list[tuple[int, str]]:
    """Return the brokers with the addresses that they advertise, if none has such an address here.

    Controllers have listeners that they do not advertise to clients.
    """
    if facts.state is None or facts.has_controllers:
        return []
    here = {broker.id: broker.endpoint.name.lower() for broker in facts.brokers}
    known: dict[int, list[str]] = {}
    for own in facts.state.own_addresses:
        if own.broker in here:
            known.setdefault(own.broker, []).append(own.address.lower())
    if any(here[broker] in addresses for broker, addresses in known.items()):
        return []
    return [(broker, " and ".join(addresses)) for broker, addresses in known.items()]
