"""Does a quota throttle this client? Did a check pass only on a second try?"""

from __future__ import annotations

from collections.abc import Iterator

from ottla._internal.text import listed
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding


def throttled(facts: Facts) -> frozenset[int]:
    """Return the ids of the brokers that throttle this client."""
    state = facts.state
    return frozenset() if state is None else frozenset(each.broker for each in state.throttles)


def judge_throttles(facts: Facts) -> Iterator[Finding]:
    """Return the findings about quotas, and about brokers that stall now and then."""
    if facts.state is not None and facts.state.throttles:
        found = facts.state.throttles
        longest = max(each.throttle_time for each in found)
        ids = tuple(each.broker for each in found)
        brokers = listed([str(broker) for broker in ids], limit=10)
        named = f"broker {brokers} throttles" if len(ids) == 1 else f"brokers {brokers} throttle"
        yield Finding(
            "warning",
            "Leaders",
            "throttled",
            f"{named} this client by a quota: responses ask it to wait up to {longest:.1f} s, so "
            "that requests are late though network and disks may be fine",
            "check the quotas of this user and client.id: ottla quotas list (kafka-configs "
            "--describe --entity-type users, clients); raise them, or find the other clients with "
            "the same user or client.id that use them up",
            ids,
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
