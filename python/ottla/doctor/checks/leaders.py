"""Step four: do partition leaders and group coordinators serve requests?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from ottla._internal.text import counted, listed
from ottla.doctor.certainty import certainty_of
from ottla.doctor.checks.identity import another_cluster
from ottla.doctor.checks.liveness import frozen
from ottla.doctor.checks.replicas import not_eligible
from ottla.doctor.checks.throttles import throttled
from ottla.doctor.cluster_facts import Broker, PartitionCheck
from ottla.doctor.connection_facts import Step
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding

_LEADER_ELSEWHERE = {"NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH"}


def judge_topics(facts: Facts) -> Iterator[Finding]:
    """Return the findings about topics that follow from the metadata."""
    topics = facts.topics
    if topics is None:
        return
    if not topics.step.ok:
        yield Finding(
            "error",
            "Metadata",
            "no_topics",
            f"the topics cannot be fetched: {topics.step.message}",
            "check the log of the broker that works as bootstrap server",
            certainty=certainty_of(topics.step),
        )
    elif topics.error is not None:
        denied = topics.error == "TOPIC_AUTHORIZATION_FAILED"
        create = (
            "check the topic's name, or create the topic (ottla topics create): it does not exist, "
            "or this principal may not see it"
        )
        yield Finding(
            "error",
            "Metadata",
            "topic_denied" if denied else "topic_unknown",
            f"the topic {topics.name!r} cannot be used: {topics.error}",
            _grant("topic", topics.name or "") if denied else create,
        )
    waiting = {(each.topic, each.partition) for each in not_eligible(facts)}
    # These have a finding of their own, with another fix.
    names = [f"{t}-{index}" for t, index in topics.leaderless if (t, index) not in waiting]
    if topics.leaderless_count and names:
        yield Finding(
            "error" if topics.name is not None else "warning",
            "Leaders",
            "leaderless",
            f"{topics.leaderless_count} of {counted(topics.partitions, 'partition')} have no "
            f"leader ({listed(names, total=topics.leaderless_count)}): they can be neither "
            "written nor read",
            "bring back the brokers of these partitions: all in-sync replicas are down",
        )
    # A frozen process, which has a finding of its own, is not to be started.
    hanging = frozen(facts)
    if missing := [each for each in topics.missing_brokers if each[0] not in hanging]:
        yield _missing(missing)
    if topics.under_replicated:
        yield Finding(
            "warning",
            "Leaders",
            "under_replicated",
            f"{topics.under_replicated} of {counted(topics.partitions, 'partition')} have "
            "out-of-sync replicas",
            "check the brokers' health: one of them is down or lags; with acks=all, writes fail "
            "below min.insync.replicas",
        )


def _missing(brokers: Sequence[tuple[int, int]]) -> Finding:
    """Return the finding for brokers that have replicas but are not among the live brokers."""
    replicas = counted(sum(count for _, count in brokers), "replica")
    named = listed([str(broker) for broker, _ in brokers], limit=10)
    if len(brokers) == 1:
        summary = (
            f"broker {named} is down: it has {replicas}, but the metadata does not list it as a "
            "live broker"
        )
        fix = (
            "start the broker and check its log: it crashed, was stopped, or is cut off from the "
            "controllers; if it will not come back, move its replicas to other brokers "
            "(ottla topics reassign, or kafka-reassign-partitions)"
        )
    else:
        summary = (
            f"brokers {named} are down: they have {replicas}, but the metadata does not list them "
            "as live brokers"
        )
        fix = (
            "start these brokers and check their logs: they crashed, were stopped, or are cut off "
            "from the controllers; if they will not come back, move their replicas to other "
            "brokers (ottla topics reassign, or kafka-reassign-partitions)"
        )
    ids = tuple(broker for broker, _ in brokers)
    return Finding("warning", "Leaders", "broker_missing", summary, fix, ids)


def judge_leaders(facts: Facts) -> Iterator[Finding]:
    """Return the findings about the checked leaders."""
    failed = [
        (broker, checked, checked.failure)
        for broker in facts.brokers
        for checked in broker.partitions
        if checked.failure is not None
        and checked.failure.reason != "out_of_time"
        and not _is_explained(facts, broker, checked.failure)
    ]
    seen: set[tuple[int, str | None]] = set()
    for broker, checked, step in failed:
        # One finding per broker and cause: a hundred partitions fail alike.
        key = (broker.id, step.code or step.reason)
        if key not in seen:
            seen.add(key)
            alike = [c for b, c, s in failed if (b.id, s.code or s.reason) == key]
            yield _judge_leader(broker, checked, step, len(alike))


def _is_explained(facts: Facts, broker: Broker, failure: Step) -> bool:
    """Return whether a quota, the loss of large packets or another cluster explains it.

    They have findings of their own.
    """
    if another_cluster(facts, broker) is not None:
        # Another cluster does not have the topic, or has another one of this name.
        return True
    if failure.code is None and broker.id in throttled(facts):
        # Requests are late, and a fetch gets an empty response.
        return True
    return failure.reason == "timed_out" and any(
        step.reason == "large_requests_lost"
        for address in broker.endpoint.addresses
        for step in address.steps
    )


def _judge_leader(broker: Broker, checked: PartitionCheck, step: Step, count: int) -> Finding:
    name = listed([f"{checked.topic}-{checked.partition}"], limit=1, total=count)
    where = f"broker {broker.id} at {broker.endpoint.name}"
    ids = (broker.id,)
    if step.code in _LEADER_ELSEWHERE and checked.leader_now == broker.id and _is_it(broker):
        return Finding(
            "warning",
            "Leaders",
            "leader_rejects",
            f"{where} rejects {step.check} for {name} with {step.code}, though it names itself as "
            "the leader: the leadership moved during the checks",
            "run ottla doctor again; if it persists, check the broker's log and restart it",
            ids,
            "likely",
        )
    if step.code in _LEADER_ELSEWHERE and checked.leader_now == broker.id:
        return Finding(
            "error",
            "Leaders",
            "misrouted",
            f"the metadata names broker {broker.id} as the leader of {name}, but the broker at "
            f"{broker.endpoint.name} rejects {step.check} with {step.code}: another broker "
            "responds there",
            "give each broker an advertised address of its own (advertised.listeners): this one "
            "stands for several brokers",
            ids,
        )
    if step.code in _LEADER_ELSEWHERE:
        moved = (
            f"broker {broker.id} lost the leadership of {name}, which now has no leader"
            if checked.leader_now is None
            else f"the leader of {name} moved from broker {broker.id} to broker "
            f"{checked.leader_now} during the checks"
        )
        return Finding(
            "note",
            "Leaders",
            "leader_moved",
            moved,
            "",
            ids,
        )
    if _denied(step):
        return Finding(
            "error",
            "Leaders",
            "read_denied",
            f"{where} rejects {step.check} for {name}: {step.code}",
            _grant("topic", checked.topic),
            ids,
        )
    return Finding(
        "error",
        "Leaders",
        "leader_fails",
        f"{where} leads {name}, but {step.check} fails: {step.message}",
        "check the broker's log, load and disks",
        ids,
        "likely" if step.reason == "timed_out" else "certain",
    )


def _is_it(broker: Broker) -> bool:
    """Return whether the broker itself responded on the connection of the checks."""
    address = broker.endpoint.working
    return address is not None and address.node == broker.id


def _grant(what: str, name: str) -> str:
    """Return the fix for missing permissions on a topic or a group."""
    return (
        f"grant the principal the missing permissions: ottla acls create --{what} "
        f"{shlex.quote(name)} --allow describe,read --principal User:NAME (kafka-acls: Describe "
        f"and Read on the {what})"
    )


def _denied(step: Step) -> bool:
    return step.code is not None and step.code.endswith("AUTHORIZATION_FAILED")


def judge_coordinator(facts: Facts) -> Iterator[Finding]:
    """Return the findings about the coordinator of the requested group."""
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
                "see the findings about that broker; until it can be reached, members of the group "
                "can neither join nor commit",
                (found.broker,),
            )
        return
    if step.code == "COORDINATOR_NOT_AVAILABLE":
        fix = (
            "check offsets.topic.replication.factor against the number of brokers: the topic "
            "__consumer_offsets cannot be created, or has no leader for this group"
        )
    elif _denied(step):
        fix = _grant("group", found.group)
    elif step.code == "NOT_COORDINATOR":
        fix = (
            "see the findings about that broker, and check its log: another broker responds at its "
            "address, or the coordinator keeps moving"
        )
    else:
        fix = "check the coordinator's log"
    where = "" if found.broker is None else f" at broker {found.broker}"
    problem = "cannot be used" if _denied(step) else "has no working coordinator"
    yield Finding(
        "error",
        "Coordinators",
        "coordinator_fails",
        f"{group} {problem}: {step.check}{where} fails: {step.message}",
        fix,
        () if found.broker is None else (found.broker,),
        certainty_of(step),
    )
