"""Do the controllers still get a broker's heartbeats, though it does not respond here?"""

from __future__ import annotations

from ottla.doctor.connection_facts import Endpoint
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


def server_is_alive(facts: Facts, server: Endpoint) -> bool | None:
    """Return the same for the broker of a bootstrap server, if it is known."""
    for broker in facts.brokers:
        if broker.endpoint.name == server.name:
            return is_alive(facts, broker.id)
    # The address of a broker that is down is no longer in the metadata.
    is_down = facts.topics is not None and len(facts.topics.missing_brokers) > 0
    return False if is_down else None
