"""Reassignments that cannot end, since a broker that should get a replica is not alive."""

from __future__ import annotations

from collections.abc import Iterator

from ottla._internal.text import counted, listed
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding


def judge_reassignments(facts: Facts) -> Iterator[Finding]:
    """Return the finding about reassignments that wait for brokers that are not alive."""
    found = () if facts.state is None else facts.state.reassignments
    if not found:
        return
    brokers = sorted({broker for each in found for broker in each.waits_for})
    names = listed([f"{each.topic}-{each.partition}" for each in found])
    if len(found) == 1:
        subject, verb, them = f"the reassignment of {names}", "waits", "it"
    else:
        subject, verb, them = f"{counted(len(found), 'reassignment')} ({names})", "wait", "them"
    if len(brokers) == 1:
        which = broker = f"broker {brokers[0]}"
        which += ", which is"
    else:
        which = broker = f"brokers {listed([str(broker) for broker in brokers], limit=10)}"
        which += ", which are"
    example = found[0]
    yield Finding(
        "warning",
        "Leaders",
        "reassignment_waits",
        f"{subject} {verb} for {which} not alive: until then, the replicas cannot be copied, and "
        "the old ones are kept",
        f"start {broker}; or cancel {them}: ottla topics reassign "
        f"{example.topic}:{example.partition} --cancel --yes "
        "(kafka-reassign-partitions --cancel), and choose other brokers",
        tuple(brokers),
    )
