"""Partitions that no write with acks=all can reach, and live replicas that may not lead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ottla._internal.text import counted, listed
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding, Severity
from ottla.doctor.state_facts import ReplicaState


def not_eligible(facts: Facts) -> tuple[ReplicaState, ...]:
    """Return the partitions without a leader that have a live replica, which may not lead."""
    found = () if facts.state is None else facts.state.partitions
    return tuple(
        each
        for each in found
        # With a live replica in sync, an election is under way.
        if each.leader is None and each.alive and not set(each.alive).intersection(each.in_sync)
    )


def below_minimum(facts: Facts) -> tuple[ReplicaState, ...]:
    """Return the partitions with a leader and fewer in-sync replicas than acks=all needs."""
    found = () if facts.state is None else facts.state.partitions
    return tuple(
        each
        for each in found
        if each.leader is not None
        and each.min_in_sync is not None
        and len(each.in_sync) < each.min_in_sync
    )


def judge_replicas(facts: Facts) -> Iterator[Finding]:
    """Return the findings about the replicas of the requested topic and of internal topics."""
    waiting = not_eligible(facts)
    if waiting:
        yield _not_eligible(facts, waiting)
    weak = below_minimum(facts)
    if weak:
        yield _below_minimum(facts, weak)


def _severity(facts: Facts, found: Sequence[ReplicaState]) -> Severity:
    """Return error if clients fail: if it is the requested topic, or one that groups need."""
    named = facts.topics is not None and facts.topics.name is not None
    return "error" if named or any(each.is_internal for each in found) else "warning"


def _not_eligible(facts: Facts, waiting: Sequence[ReplicaState]) -> Finding:
    lost = sorted({broker for each in waiting for broker in {*each.in_sync} - {*each.alive}})
    alive = sorted({broker for each in waiting for broker in each.alive})
    brokers = listed([str(broker) for broker in alive], limit=10)
    first = "wait for the controllers if the brokers have just started"
    if lost:
        named = listed([str(broker) for broker in lost], limit=10)
        first = f"start broker {named}, which has the last in-sync replica: nothing is lost then"
    elif down := sorted(
        {broker for each in waiting for broker in {*each.replicas} - {*each.alive}}
    ):
        named = listed([str(broker) for broker in down], limit=10)
        first = f"start broker {named}: if its replica is complete, nothing is lost"
    example = waiting[0]
    where = f"{example.topic}:{example.partition}"
    offsets = ""
    if any(each.topic == "__consumer_offsets" for each in waiting):
        offsets = (
            "; of __consumer_offsets, these are committed offsets, so that groups read records "
            "again or skip them (auto.offset.reset)"
        )
    return Finding(
        _severity(facts, waiting),
        "Leaders",
        "replicas_not_eligible",
        f"{counted(len(waiting), 'partition')} {'have' if len(waiting) > 1 else 'has'} no leader "
        f"({_names(waiting)}){_groups(waiting)}: "
        f"{'brokers' if len(alive) > 1 else 'broker'} {brokers} with a replica "
        f"{'are' if len(alive) > 1 else 'is'} alive, but "
        "not eligible to lead, as after an unclean shutdown or out of sync: the replica may lack "
        "acknowledged records",
        f"{first}; only if no complete replica comes back: ottla topics elect-leaders --unclean "
        f"--yes {where} (kafka-leader-election --election-type UNCLEAN), which loses the "
        f"records that the elected replica lacks{offsets}",
        tuple(alive),
    )


def _below_minimum(facts: Facts, weak: Sequence[ReplicaState]) -> Finding:
    example = weak[0]
    shown = f"{example.topic}-{example.partition} has {len(example.in_sync)} of at least"
    too_few = [each for each in weak if each.min_in_sync and len(each.replicas) < each.min_in_sync]
    fix = (
        "bring back the brokers of the missing replicas, and check why they lag; until then, only "
        "a lower min.insync.replicas (ottla configs set topic NAME min.insync.replicas=1) "
        "lets writes through, which are lost if the leader fails"
    )
    if len(too_few) == len(weak):
        fix = (
            "lower min.insync.replicas of the topic, or add replicas (ottla topics reassign): it "
            "has fewer replicas than min.insync.replicas"
        )
    missing = {broker for each in weak for broker in {*each.replicas} - {*each.in_sync}}
    return Finding(
        _severity(facts, weak),
        "Leaders",
        "below_min_isr",
        f"{counted(len(weak), 'partition')} {'have' if len(weak) > 1 else 'has'} fewer in-sync "
        f"replicas than min.insync.replicas ({shown} {example.min_in_sync}): they can be read, but "
        f"every write with acks=all fails with NOT_ENOUGH_REPLICAS{_groups(weak, 'commit')}",
        fix,
        tuple(sorted(missing)),
    )


def _names(found: Sequence[ReplicaState]) -> str:
    return listed([f"{each.topic}-{each.partition}" for each in found], total=len(found))


def _groups(found: Sequence[ReplicaState], what: str = "") -> str:
    """Return what the internal topics among the partitions are needed for."""
    topics = {each.topic for each in found if each.is_internal}
    parts = []
    if "__consumer_offsets" in topics:
        parts.append("groups cannot commit" if what else "groups have no coordinator")
    if "__transaction_state" in topics:
        parts.append("transactions cannot be committed")
    return f", so that {' and '.join(parts)}" if parts else ""
