"""Brokers that respond to small requests only: the path drops packets, or the broker is late."""

from __future__ import annotations

from collections.abc import Iterator

from ottla._internal.text import listed
from ottla.doctor.checks.silence import MTU_FIX
from ottla.doctor.checks.throttles import throttled
from ottla.doctor.cluster_facts import Broker
from ottla.doctor.connection_facts import Step
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding

# Small requests that take longer show a broker that stalls, or a quota.
_QUICK_SECONDS = 1.0


def judge_large_requests(facts: Facts) -> Iterator[Finding]:
    """Return the finding about large packets; none for brokers that throttle this client."""
    lost = [
        broker
        for broker in facts.brokers
        if broker.id not in throttled(facts) and _lost(broker) is not None
    ]
    if not lost:
        return
    named = listed([f"{broker.id} at {broker.endpoint.name}" for broker in lost])
    responds = f"broker {named} responds" if len(lost) == 1 else f"brokers {named} respond"
    is_certain = all(_is_certain(broker) for broker in lost)
    doubt = "" if is_certain else ", unless the broker stalls or a quota throttles this client"
    yield Finding(
        "error",
        "Advertised",
        "large_requests_lost",
        f"{responds} to small requests, but not to one of 4 KiB: the network path drops large "
        f"packets{doubt}",
        MTU_FIX if is_certain else f"{MTU_FIX}; run ottla doctor again to confirm it",
        tuple(broker.id for broker in lost),
        "certain" if is_certain else "likely",
    )


def _steps(broker: Broker) -> Iterator[Step]:
    for address in broker.endpoint.addresses:
        yield from address.steps
    for checked in broker.partitions:
        yield from checked.steps


def _lost(broker: Broker) -> Step | None:
    return next((step for step in _steps(broker) if step.reason == "large_requests_lost"), None)


def _is_certain(broker: Broker) -> bool:
    """Return whether it was lost twice while all small requests were quick."""
    lost = _lost(broker)
    others = [step for step in _steps(broker) if step is not lost and step.check != "Identity"]
    return (
        lost is not None
        and lost.attempts > 1
        and all(step.ok and step.seconds < _QUICK_SECONDS for step in others)
    )
