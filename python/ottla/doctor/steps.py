"""The steps of a diagnosis, in the order of the facts.

Invariant: each step is there once.
"""

from __future__ import annotations

from collections.abc import Iterator

from ottla.doctor.connection_facts import Endpoint, Step
from ottla.doctor.facts import Facts


def endpoints_of(facts: Facts) -> Iterator[tuple[int | None, Endpoint]]:
    """Yield the endpoints with the ids of their brokers; None for bootstrap servers."""
    yield from ((None, server) for server in facts.bootstrap)
    yield from ((broker.id, broker.endpoint) for broker in facts.brokers)


def steps_after_dns(facts: Facts) -> Iterator[Step]:
    """Yield all steps but the resolution of names."""
    for _, endpoint in endpoints_of(facts):
        for address in endpoint.addresses:
            yield from address.steps
    for broker in facts.brokers:
        for checked in broker.partitions:
            yield from checked.steps
    for found in (facts.coordinator, facts.quorum):
        yield from () if found is None else found.steps
    if facts.topics is not None:
        yield facts.topics.step


def all_steps(facts: Facts) -> Iterator[Step]:
    """Yield all steps."""
    yield from (endpoint.dns for _, endpoint in endpoints_of(facts))
    yield from steps_after_dns(facts)
