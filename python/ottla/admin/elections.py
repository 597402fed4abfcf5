"""Leader elections: let the preferred replicas lead, or any that is alive (KIP-460).

Invariant: a partition whose leader is the wanted one already is no error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ottla.admin.destinations import (
    CONTROLLER_TIMEOUT_MS,
    TopicPartition,
    metadata,
    partitions_by_topic,
    to_controller,
)
from ottla.admin.items import Results, error_of
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.admin.partitions import describe_partitions
from ottla.admin.plan import Plan, PlannedChange
from ottla.admin.topics import PartitionDescription, describe_topics
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError

_UNCLEAN = 1


async def elect_leaders(
    call: Call, partitions: Iterable[TopicPartition] | None, *, unclean: bool
) -> Results[TopicPartition, bool]:
    """Elect leaders for partitions, or for all; the results are whether it was needed."""

    def request(topics: list[Body] | None) -> Request:
        body: Body = {"topic_partitions": topics, "timeout_ms": CONTROLLER_TIMEOUT_MS}
        # Before Kafka 2.4, there is no other type than the default.
        return Request("ElectLeaders", body | ({"election_type": _UNCLEAN} if unclean else {}))

    def build(pending: list[TopicPartition]) -> Request:
        by_topic = partitions_by_topic(pending)
        return request([{"topic": name, "partitions": each} for name, each in by_topic.items()])

    def read(response: Response, pending: list[TopicPartition]) -> Results[TopicPartition, bool]:
        if error := _error_of_all(response):
            return dict.fromkeys(pending, error)
        return _results(response)

    def read_all(response: Response, _: list[None]) -> Results[None, Results[TopicPartition, bool]]:
        return {None: _error_of_all(response) or _results(response)}

    if partitions is not None:
        return await to_controller(call, partitions, build, read)
    result = (await to_controller(call, [None], lambda _: request(None), read_all))[None]
    if isinstance(result, KafkaError):
        raise result
    return result


def _error_of_all(response: Response) -> KafkaError | None:
    return error_of(response.body, api="ElectLeaders") if response.body.get("error_code") else None


def _results(response: Response) -> Results[TopicPartition, bool]:
    results: Results[TopicPartition, bool] = {}
    for topic in response.body["replica_election_results"]:
        for each in topic["partition_result"]:
            topic_partition = topic["topic"], each["partition_id"]
            if each["error_code"] == ErrorCode.ELECTION_NOT_NEEDED:
                results[topic_partition] = False
            else:
                results[topic_partition] = (
                    error_of(
                        each,
                        topic=topic_partition[0],
                        partition=topic_partition[1],
                        api="ElectLeaders",
                    )
                    or True
                )
    return results


async def plan_elections(
    call: Call, partitions: Iterable[TopicPartition] | None, *, unclean: bool
) -> Plan:
    """Return the partitions whose leader would change."""
    if partitions is None:
        topic_partitions = await _all_partitions(call)
    else:
        topic_partitions = await describe_partitions(call, partitions)
    changes = []
    for (topic, partition), each in sorted(topic_partitions.items()):
        before = "none" if each.leader is None else str(each.leader)
        resource, preferred = f"partition {topic}-{partition}", each.replicas[0]
        if unclean and each.leader is None:
            change = PlannedChange("elect", resource, "any replica that is alive", before, "any")
        elif not unclean and each.leader != preferred:
            detail = "" if preferred in each.isr else f"broker {preferred} is not in sync"
            change = PlannedChange("elect", resource, detail, before, str(preferred))
        else:
            continue
        changes.append(change)
    return Plan(changes)


async def _all_partitions(call: Call) -> Mapping[TopicPartition, PartitionDescription]:
    names = [topic["name"] for topic in (await metadata(call, None))["topics"]]
    topics = await describe_topics(call, names, authorized_operations=False)
    # A topic that was deleted meanwhile has no leaders to elect.
    return {
        (topic.name, each.partition): each
        for topic in topics.values()
        if not isinstance(topic, KafkaError)
        for each in topic.partitions
    }
