"""Do the controllers still get a broker's heartbeats, though it does not respond here?"""

from __future__ import annotations

from ottla.doctor.connection_facts import Address, Endpoint, Step
from ottla.doctor.facts import Facts

# Seconds after which controllers give up a silent broker: broker.session.timeout.ms, and a reserve.
SESSION_SECONDS = 10.0


def is_alive(facts: Facts, broker: int) -> bool | None:
    """Return whether the controllers list a broker; None if they may not have noticed its end."""
    state = facts.state
    if state is None:
        return None
    if broker not in state.alive:
        return False
    return True if state.watched >= SESSION_SECONDS else None


def fenced_at(facts: Facts, server: Endpoint) -> int | None:
    """Return the broker of a bootstrap server, if it is registered but not alive."""
    fenced = () if facts.state is None else facts.state.fenced
    return next((broker.id for broker in fenced if broker.address == server.name), None)


def frozen(facts: Facts) -> frozenset[int]:
    """Return the brokers that accept connections at a bootstrap server's address and hang."""
    return frozenset(
        broker
        for server in facts.bootstrap
        if server.working is None and server.failure is not None and _hangs(*server.failure)
        if (broker := fenced_at(facts, server)) is not None
    )


def _hangs(address: Address, step: Step) -> bool:
    """Return whether a process accepted the connection, got the request, and does not respond."""
    is_silent = step.reason == "timed_out" and step.check in {"TLS", "ApiVersions"}
    # Bytes that are lost on the way say nothing about the process.
    return is_silent and (address.responder is None or address.responder.acknowledged is not False)


def server_is_alive(facts: Facts, server: Endpoint) -> bool | None:
    """Return the same for the broker of a bootstrap server, if it is known."""
    for broker in facts.brokers:
        if broker.endpoint.name == server.name:
            return is_alive(facts, broker.id)
    if fenced_at(facts, server) is not None:
        return False
    # The address of a broker that is down is no longer in the metadata.
    is_down = facts.topics is not None and len(facts.topics.missing_brokers) > 0
    return False if is_down else None
