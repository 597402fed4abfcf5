"""Does something between this client and the brokers replace their addresses, as a gateway does?

Invariant: a cluster that is reached directly is never taken for one behind a gateway: each broker
that was asked must advertise other addresses than the metadata has for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ottla._internal.text import listed
from ottla.doctor.cluster_facts import Broker
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding


def has_gateway(facts: Facts) -> bool:
    """Return whether the addresses here are not those that the brokers advertise."""
    return bool(_replaced(facts))


def judge_gateway(facts: Facts) -> Iterator[Finding]:
    """Return the note about addresses that are those of a gateway."""
    replaced = _replaced(facts)
    if not replaced:
        return
    own = [f"broker {broker} itself advertises {addresses}" for broker, addresses in replaced]
    yield Finding(
        "note",
        "Advertised",
        "gateway",
        "these addresses look like those of a gateway, or of another proxy that replaces the "
        f"brokers' addresses: {listed(own)}",
        brokers=tuple(broker for broker, _ in replaced),
        certainty="likely",
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
