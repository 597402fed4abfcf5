"""Does a quota throttle this client? Did a check pass only on a second try?"""

from __future__ import annotations

from collections.abc import Iterator

from ottla._internal.text import listed
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding
from ottla.doctor.state_facts import Throttle

# Requests that are late by more, while connecting is quick, are held back.
_LATE_SECONDS = 1.0
# A broker that throttles a client responds to its fetches late, and without partitions.
_EMPTY_FETCH = "the response does not contain the partition"


def throttles_of(facts: Facts) -> tuple[Throttle, ...]:
    """Return what brokers said of a quota; if none did, what their responses suggest."""
    said = () if facts.state is None else facts.state.throttles
    return said or tuple(_suggested(facts))


def throttled(facts: Facts) -> frozenset[int]:
    """Return the ids of the brokers that throttle this client."""
    return frozenset(each.broker for each in throttles_of(facts))


def _suggested(facts: Facts) -> Iterator[Throttle]:
    for broker in facts.brokers:
        address = broker.endpoint.working
        steps = [step for checked in broker.partitions for step in checked.steps]
        is_empty = any(
            step.check == "Fetch" and not step.ok and (step.message or "").startswith(_EMPTY_FETCH)
            for step in steps
        )
        if address is None or not is_empty:
            continue
        connecting = max(step.seconds for step in address.steps if step.check in {"DNS", "TCP"})
        longest = max(step.seconds for step in (*address.steps, *steps) if step.ok)
        if longest - connecting > _LATE_SECONDS:
            yield Throttle(broker.id, longest)


def judge_throttles(facts: Facts) -> Iterator[Finding]:
    """Return the findings about quotas, and about brokers that stall now and then."""
    found = throttles_of(facts)
    if found:
        is_certain = facts.state is not None and bool(facts.state.throttles)
        longest = max(each.throttle_time for each in found)
        ids = tuple(each.broker for each in found)
        brokers = listed([str(broker) for broker in ids], limit=10)
        named = f"broker {brokers} throttles" if len(ids) == 1 else f"brokers {brokers} throttle"
        how = (
            f"responses ask it to wait up to {longest:.1f} s, so that requests are late"
            if is_certain
            else f"requests take up to {longest:.1f} s, connecting does not, and fetches get an "
            "empty response"
        )
        yield Finding(
            "warning",
            "Leaders",
            "throttled",
            f"{named} this client by a quota: {how} though the network and the brokers may be fine",
            "check the quotas of this user and client.id: ottla quotas list (kafka-configs "
            "--describe --entity-type users, clients); raise them, or find the other clients with "
            "the same user or client.id that use them up",
            ids,
            "certain" if is_certain else "likely",
        )
    stalled = [each for each in facts.recovered if each.broker not in throttled(facts)]
    if stalled:
        named = listed(
            [
                f"{each.check} at "
                + (each.server if each.broker is None else f"broker {each.broker}")
                for each in stalled
            ]
        )
        yield Finding(
            "warning",
            "TCP",
            "stalls",
            f"{named} got no response in time at first, and one when tried again: the broker or "
            "the network path stalls now and then",
            "check the broker for pauses (garbage collection, disks, virtual machine, load), and "
            "the path for packet loss; run ottla doctor again to see how often it happens",
            tuple(dict.fromkeys(each.broker for each in stalled if each.broker is not None)),
            "likely",
        )
