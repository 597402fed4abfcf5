"""The records of partitions: delete those before an offset.

Invariant: a plan counts the offsets from the log start offset, so it never counts a record twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ottla._core import error_of_code
from ottla.admin.config_resources import ConfigResource
from ottla.admin.configs import describe_configs
from ottla.admin.destinations import (
    CONTROLLER_TIMEOUT_MS,
    TopicPartition,
    by_destination,
    leaders,
)
from ottla.admin.items import Results, error_of, settle
from ottla.admin.offsets import offset_bounds
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.admin.plan import Plan, PlannedChange
from ottla.admin.topics import describe_topics
from ottla.error_code import ErrorCode
from ottla.errors import AuthorizationError, KafkaError

_HIGH_WATERMARK = -1


async def delete_records(
    call: Call, offsets: Mapping[TopicPartition, int]
) -> Results[TopicPartition, int]:
    """Delete the records before offsets; return the new log start offsets."""

    def build(partitions: list[TopicPartition]) -> Request:
        topics: dict[str, list[Body]] = {}
        for topic, partition in partitions:
            entry = {"partition_index": partition, "offset": offsets[topic, partition]}
            topics.setdefault(topic, []).append(entry)
        bodies = [{"name": name, "partitions": entries} for name, entries in topics.items()]
        return Request("DeleteRecords", {"topics": bodies, "timeout_ms": CONTROLLER_TIMEOUT_MS})

    def read(response: Response, _: list[TopicPartition]) -> Results[TopicPartition, int]:
        return {
            (topic["name"], each["partition_index"]): error_of(
                each, topic=topic["name"], partition=each["partition_index"], api="DeleteRecords"
            )
            or each["low_watermark"]
            for topic in response.body["topics"]
            for each in topic["partitions"]
        }

    async def find(
        partitions: list[TopicPartition],
    ) -> Mapping[TopicPartition, int | KafkaError]:
        return await leaders(call, partitions)

    return await by_destination(call, offsets, find, build, read, changes=True)


async def plan_deletion(call: Call, offsets: Mapping[TopicPartition, int]) -> Plan:
    """Return the log start offsets before and after, and how many records go at most."""
    await _check_topics(call, list(dict.fromkeys(topic for topic, _ in offsets)))
    bounds = await offset_bounds(call, offsets)
    changes = []
    for (topic, partition), offset in offsets.items():
        start, end = bounds[topic, partition]
        new_start = end if offset == _HIGH_WATERMARK else offset
        if not 0 <= new_start <= end:
            message = f"offset {offset}: the partition has the offsets {start} to {end}"
            raise error_of_code(
                ErrorCode.OFFSET_OUT_OF_RANGE, message, topic=topic, partition=partition
            )
        if new_start > start:
            # Some offsets of a compacted or transactional topic have no record.
            detail = f"at most {new_start - start}"
            resource = f"records of {topic}-{partition}"
            changes.append(PlannedChange("delete", resource, detail, str(start), str(new_start)))
    return Plan(changes)


async def _check_topics(call: Call, topics: Iterable[str]) -> None:
    described = settle(await describe_topics(call, topics, authorized_operations=False), "raise")
    resources = [ConfigResource("topic", topic) for topic in described]
    configs = await describe_configs(call, resources, keys=["cleanup.policy"])
    for resource, entries in configs.items():
        if described[resource.name].is_internal:
            raise error_of_code(
                ErrorCode.INVALID_TOPIC_EXCEPTION, "it is internal", topic=resource.name
            )
        if isinstance(entries, AuthorizationError):
            # To delete records, the principal need not be allowed to describe configurations.
            continue
        if isinstance(entries, KafkaError):
            raise entries
        policies = (entries["cleanup.policy"].value or "").split(",")
        if "compact" in policies and "delete" not in policies:
            raise error_of_code(
                ErrorCode.POLICY_VIOLATION, "it is compacted only", topic=resource.name
            )
