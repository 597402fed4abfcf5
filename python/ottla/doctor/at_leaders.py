"""Step four: do leaders and coordinators do their work?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ottla.doctor.facts import Broker, Facts, PartitionCheck, Step
from ottla.doctor.findings import Finding

_DENIED = "give the principal the rights it needs (kafka-acls: Describe and Read on the {what})"
_LEADER_ELSEWHERE = {"NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH"}


def judge_topics(facts: Facts) -> Iterator[Finding]:
    """Return what is wrong with the topics, by the metadata."""
    topics = facts.topics
    if topics is None:
        return
    if not topics.step.ok:
        yield Finding(
            "error",
            "Metadata",
            "no_topics",
            f"the topics cannot be looked up: {topics.step.message}",
            "look into the log of the broker that was asked",
        )
    elif topics.error is not None:
        denied = topics.error == "TOPIC_AUTHORIZATION_FAILED"
        missing = "it does not exist, or this principal may not see it"
        yield Finding(
            "error",
            "Metadata",
            "topic_denied" if denied else "topic_unknown",
            f"the topic {topics.name!r} cannot be used: {topics.error}",
            _DENIED.format(what="topic") if denied else f"{missing}: check its name, or create it",
        )
    if topics.leaderless_count:
        named = ", ".join(f"{topic}-{index}" for topic, index in topics.leaderless[:5])
        more = ", …" if topics.leaderless_count > 5 else ""
        yield Finding(
            "error" if topics.name is not None else "warning",
            "Leaders",
            "leaderless",
            f"{topics.leaderless_count} of {topics.partitions} partitions have no leader "
            f"({named}{more}): they can be neither written nor read",
            "all replicas in sync are down: bring their brokers back",
        )
    if topics.missing_brokers:
        yield _missing(topics.missing_brokers)
    if topics.under_replicated:
        yield Finding(
            "warning",
            "Leaders",
            "under_replicated",
            f"{topics.under_replicated} of {topics.partitions} partitions have replicas that are "
            "not in sync",
            "a broker is down or lags: check the brokers' health; with acks=all, writing fails "
            "below min.insync.replicas",
        )


def _missing(brokers: Sequence[tuple[int, int]]) -> Finding:
    """Return the brokers that have replicas but are not among those that are alive."""
    replicas = sum(count for _, count in brokers)
    named = ", ".join(str(broker) for broker, _ in brokers[:10])
    more = f" and {len(brokers) - 10} more" if len(brokers) > 10 else ""
    subject, verb = ("broker", "is") if len(brokers) == 1 else ("brokers", "are")
    hold = "holds" if len(brokers) == 1 else "hold"
    noun = "replica" if replicas == 1 else "replicas"
    return Finding(
        "warning",
        "Leaders",
        "broker_missing",
        f"{subject} {named}{more} {verb} down: crashed, stopped, or cut off from the controllers; "
        f"by the metadata, {named} {hold} {replicas} {noun}",
        "start what is down again and look into its log; if it will not come back, move its "
        "replicas to other brokers (kafka-reassign-partitions)",
        tuple(broker for broker, _ in brokers),
    )


def judge_leaders(facts: Facts) -> Iterator[Finding]:
    """Return what is wrong with the leaders that were asked."""
    failed = [
        (broker, checked, checked.failure)
        for broker in facts.brokers
        for checked in broker.partitions
        if checked.failure is not None and checked.failure.reason != "out_of_time"
    ]
    seen: set[tuple[int, str | None]] = set()
    for broker, checked, step in failed:
        # One finding a broker and cause: a hundred partitions fail alike.
        key = (broker.id, step.code or step.reason)
        if key not in seen:
            seen.add(key)
            alike = [c for b, c, s in failed if (b.id, s.code or s.reason) == key]
            yield _judge_leader(broker, checked, step, len(alike))


def _judge_leader(broker: Broker, checked: PartitionCheck, step: Step, count: int) -> Finding:
    name = f"{checked.topic}-{checked.partition}"
    name += f" and {count - 1} more" if count > 1 else ""
    where = f"broker {broker.id} at {broker.endpoint.name}"
    ids = (broker.id,)
    if step.code in _LEADER_ELSEWHERE and checked.leader_now == broker.id:
        return Finding(
            "error",
            "Leaders",
            "misrouted",
            f"the metadata names broker {broker.id} as leader of {name}, but who answers at "
            f"{broker.endpoint.name} says that it is not ({step.code}): it is another broker",
            "one address stands in front of several brokers: give each broker an advertised "
            "address of its own (advertised.listeners)",
            ids,
        )
    if step.code in _LEADER_ELSEWHERE:
        now = "nobody" if checked.leader_now is None else f"broker {checked.leader_now}"
        return Finding(
            "note",
            "Leaders",
            "leader_moved",
            f"the leader of {name} moved from broker {broker.id} to {now} during the examination",
            "",
            ids,
        )
    if _denied(step):
        return Finding(
            "error",
            "Leaders",
            "read_denied",
            f"{where} refuses {step.check} for {name}: {step.code}",
            _DENIED.format(what="topic"),
            ids,
        )
    return Finding(
        "error",
        "Leaders",
        "leader_fails",
        f"{where} leads {name}, but fails in {step.check}: {step.message}",
        "look into the broker's log, and at its load and its disks",
        ids,
    )


def _denied(step: Step) -> bool:
    return step.code is not None and step.code.endswith("AUTHORIZATION_FAILED")


def judge_coordinator(facts: Facts) -> Iterator[Finding]:
    """Return what is wrong with the coordinator of the group that was asked for."""
    found = facts.coordinator
    if found is None:
        return
    group, step = f"group {found.group!r}", found.failure
    if step is not None and step.reason == "out_of_time":
        return
    reached = {b.id for b in facts.brokers if b.endpoint.working is not None}
    if step is None:
        if found.broker is not None and found.broker not in reached:
            yield Finding(
                "error",
                "Coordinators",
                "coordinator_unreachable",
                f"the coordinator of {group} is broker {found.broker}, which cannot be reached",
                "members of the group cannot join or commit until it can: see what is said about "
                "that broker",
                (found.broker,),
            )
        return
    if step.code == "COORDINATOR_NOT_AVAILABLE":
        fix = (
            "the topic __consumer_offsets has no leader for this group or cannot be created: check "
            "offsets.topic.replication.factor against the number of brokers"
        )
    elif _denied(step):
        fix = _DENIED.format(what="group")
    elif step.code == "NOT_COORDINATOR":
        fix = (
            "another broker answers at its address, or the coordinator moves from broker to "
            "broker: see what is said about that broker, and look into its log"
        )
    else:
        fix = "look into the coordinator's log"
    who = "" if found.broker is None else f" by broker {found.broker}"
    yield Finding(
        "error",
        "Coordinators",
        "coordinator_fails",
        f"{group} cannot be served{who}: {step.check} fails: {step.message}",
        fix,
        () if found.broker is None else (found.broker,),
    )
