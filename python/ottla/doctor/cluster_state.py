"""Asks the cluster at the end of the checks: brokers, replicas, reassignments, quotas, voters.

The requests go over an ``Admin`` of the same configuration. What this principal may not see, or
what no broker returns in time, is left out. Invariant: nothing is changed, no topic is created.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ottla.admin.operation_call import Body, Call, Request
from ottla.doctor.absent_brokers import fenced_brokers, waiting_reassignments
from ottla.doctor.facts import Facts
from ottla.doctor.own_addresses import own_addresses
from ottla.doctor.state_facts import ClusterState, ReplicaState, Throttle
from ottla.errors import KafkaError

if TYPE_CHECKING:
    from ottla.admin import Admin

_OFFSETS, _TRANSACTIONS = "__consumer_offsets", "__transaction_state"
_INTERNAL = (_OFFSETS, _TRANSACTIONS)
_MIN_IN_SYNC = "min.insync.replicas"
_TOPIC_RESOURCE = 2
# Of a larger cluster, only the internal topics are described again.
_MAX_PARTITIONS = 20_000
# Topics whose configuration is described, and weak partitions that are listed, at most.
_MAX_TOPICS, _MAX_LISTED = 100, 1000
# Brokers that are asked whether they throttle this client.
_MAX_BROKERS = 30


def describe_state(admin: Admin, facts: Facts, watched: float, timeout: float) -> ClusterState:
    """Return the cluster's state.

    Args:
        admin: an admin client of the cluster.
        facts: the facts of the checks.
        watched: seconds since the first metadata.
        timeout: seconds for all requests.

    Raises:
        KafkaError: no broker returned the metadata in time.
    """
    deadline = time.monotonic() + timeout

    async def look(call: Call) -> ClusterState:
        body = (await call.ask(_metadata(facts))).body
        alive = {broker["node_id"] for broker in body["brokers"]}
        topics = [topic for topic in body["topics"] if not topic["error_code"]]
        minima = await _minima(call, topics, facts)
        voters = await _silent_voters(call, facts)
        fenced = await fenced_brokers(call, facts)
        reassignments = await waiting_reassignments(call, facts, topics, alive)
        return ClusterState(
            alive=tuple(sorted(alive)),
            watched=watched,
            partitions=tuple(_weak(topics, alive, minima))[:_MAX_LISTED],
            partition_count=sum(len(topic["partitions"]) for topic in topics),
            # Late, as a broker that stalls may take the time that is left; in this order, as only
            # a note depends on the addresses, and a quota delays what is asked after them.
            throttles=await _throttles(call, facts),
            own_addresses=await own_addresses(call, facts),
            silent_voters=voters,
            fenced=fenced,
            reassignments=reassignments,
        )

    # One operation, so that all requests share a deadline.
    left = deadline - time.monotonic()
    return admin._run("describe the cluster's state", left, look)  # noqa: SLF001 - see above


def _metadata(facts: Facts) -> Request:
    assert facts.topics is not None
    name = facts.topics.name
    wanted: list[Body] | None = [
        {"name": each} for each in dict.fromkeys((name, *_INTERNAL)) if each
    ]
    if name is None and facts.topics.partitions <= _MAX_PARTITIONS:
        wanted = None
    return Request("Metadata", {"topics": wanted, "allow_auto_topic_creation": False})


async def _throttles(call: Call, facts: Facts) -> tuple[Throttle, ...]:
    """Send a small request to each broker that works: its response has the throttle time."""
    working = [broker.id for broker in facts.brokers if broker.endpoint.working is not None]
    asked = sorted(working)[:_MAX_BROKERS]
    body: Body = {"topics": [], "allow_auto_topic_creation": False}
    responses = await call.send([Request("Metadata", body, to=broker) for broker in asked])
    millis = (
        0 if isinstance(response, KafkaError) else response.body.get("throttle_time_ms", 0)
        for response in responses
    )
    return tuple(
        Throttle(broker, each / 1000)
        for broker, each in zip(asked, millis, strict=True)
        if each > 0
    )


async def _minima(call: Call, topics: list[Body], facts: Facts) -> dict[str, int]:
    """Return ``min.insync.replicas`` of the topics that may have too few in-sync replicas."""
    named = None if facts.topics is None else facts.topics.name
    wanted = [
        topic["name"]
        for topic in topics
        if topic["name"] in {named, *_INTERNAL}
        or any(len(each["isr_nodes"]) < len(each["replica_nodes"]) for each in topic["partitions"])
    ]
    resources = [
        {
            "resource_type": _TOPIC_RESOURCE,
            "resource_name": name,
            "configuration_keys": [_MIN_IN_SYNC],
        }
        for name in wanted[:_MAX_TOPICS]
    ]
    if not resources:
        return {}
    [response] = await call.send([Request("DescribeConfigs", {"resources": resources})])
    if isinstance(response, KafkaError):
        return {}
    return {
        result["resource_name"]: int(config["value"])
        for result in response.body["results"]
        if not result["error_code"]
        for config in result["configs"]
        if config["name"] == _MIN_IN_SYNC and (config["value"] or "").isdigit()
    }


def _weak(
    topics: Iterable[Body], alive: set[int], minima: dict[str, int]
) -> Iterable[ReplicaState]:
    for topic in topics:
        minimum = minima.get(topic["name"])
        for each in topic["partitions"]:
            leader = each["leader_id"] if each["leader_id"] >= 0 else None
            in_sync, replicas = tuple(each["isr_nodes"]), tuple(each["replica_nodes"])
            if leader is None or (minimum is not None and len(in_sync) < minimum):
                live = tuple(broker for broker in replicas if broker in alive)
                yield ReplicaState(
                    topic["name"],
                    each["partition_index"],
                    leader,
                    replicas,
                    in_sync,
                    live,
                    minimum,
                    topic["name"] in _INTERNAL,
                )


async def _silent_voters(call: Call, facts: Facts) -> tuple[int, ...] | None:
    """Return the voters that the leader has not heard from in two looks; None if not looked at."""
    before = never_caught_up(facts)
    if not before:
        return None
    topics = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
    [response] = await call.send([Request("DescribeQuorum", {"topics": topics})])
    if isinstance(response, KafkaError):
        return None
    voters = [
        voter
        for topic in response.body["topics"]
        for partition in topic["partitions"]
        for voter in partition["current_voters"]
    ]
    silent = {
        voter["replica_id"] for voter in voters if voter.get("last_caught_up_timestamp", -1) < 0
    }
    return tuple(sorted(silent.intersection(before)))


def never_caught_up(facts: Facts) -> tuple[int, ...]:
    """Return the voters without a time, though the leader has one: they never caught up with it.

    A leader forgets these times when it starts to lead: a voter that has been down since then has
    none.
    """
    quorum = facts.quorum
    if quorum is None or quorum.leader is None:
        return ()
    known = {voter.id: voter.lag_ms for voter in quorum.voters}
    if known.get(quorum.leader) is None:
        # The brokers do not report the times (before Kafka 3.4).
        return ()
    return tuple(voter for voter, lag in known.items() if lag is None)
