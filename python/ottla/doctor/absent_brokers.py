"""Asks what the cluster knows of brokers that are not alive: addresses, and what waits for them.

Invariant: nothing is asked of a cluster whose brokers are all alive, and what is denied or not
supported is left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla.admin.destinations import ask_controller
from ottla.admin.operation_call import Body, Call, Request
from ottla.doctor.facts import Facts
from ottla.doctor.state_facts import FencedBroker, Reassignment
from ottla.errors import KafkaError

_TIMEOUT_MS = 2000
# Reassignments that are listed at most.
_MAX_LISTED = 1000


async def fenced_brokers(call: Call, facts: Facts) -> tuple[FencedBroker, ...]:
    """Return the brokers that are registered but not alive (Kafka 4.0 and newer).

    They are asked for only if a bootstrap server fails, which may be one of them.
    """
    if all(server.working is not None for server in facts.bootstrap):
        return ()
    request = Request("DescribeCluster", {"include_fenced_brokers": True})
    [response] = await call.send([request])
    if isinstance(response, KafkaError) or response.body["error_code"]:
        return ()
    return tuple(
        FencedBroker(each["broker_id"], each["host"], each["port"])
        for each in sorted(response.body["brokers"], key=lambda each: int(each["broker_id"]))
        if each["is_fenced"]
    )


async def waiting_reassignments(
    call: Call, facts: Facts, topics: Iterable[Body], alive: set[int]
) -> tuple[Reassignment, ...]:
    """Return the reassignments that add a replica on a broker that is not alive.

    Args:
        call: the call.
        facts: the facts of the checks.
        topics: the described topics; without a requested topic, all reassignments are asked for.
        alive: the ids of the live brokers.
    """
    if facts.topics is None or not facts.topics.missing_brokers:
        # A replica on a broker that is not alive is among these.
        return ()
    wanted: list[Body] | None = None
    if facts.topics.name is not None:
        wanted = [
            {
                "name": topic["name"],
                "partition_indexes": [each["partition_index"] for each in topic["partitions"]],
            }
            for topic in topics
            if topic["name"] == facts.topics.name
        ]
    request = Request("ListPartitionReassignments", {"timeout_ms": _TIMEOUT_MS, "topics": wanted})
    try:
        listed = await ask_controller(call, request, changes=False)
    except KafkaError:
        return ()
    found = (
        Reassignment(
            topic["name"],
            each["partition_index"],
            tuple(broker for broker in each["adding_replicas"] if broker not in alive),
        )
        for topic in listed["topics"]
        for each in topic["partitions"]
    )
    return tuple(each for each in found if each.waits_for)[:_MAX_LISTED]
