"""The start offsets of share groups (KIP-932): list, alter and delete them.

Invariant: offsets change for groups without members only; the coordinator refuses others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ottla._core import error_of_code
from ottla.admin.coordinators import to_coordinators
from ottla.admin.destinations import TopicPartition
from ottla.admin.group_descriptions import GroupDescription, find_group
from ottla.admin.group_offsets import change_offsets
from ottla.admin.items import Results, error_of, known, settle
from ottla.admin.offsets import offset_bounds, place_text
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.admin.plan import Plan, PlannedChange
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError

_ALTER, _DELETE = "AlterShareGroupOffsets", "DeleteShareGroupOffsets"


@dataclass(frozen=True)
class ShareGroupOffset:
    """The start offset of a share group in a partition: all records before it are done.

    Attributes:
        start_offset: the offset of the first record that may be delivered.
        leader_epoch: the leader epoch that was known then; None if unknown.
        lag: the number of records that are not done (KIP-1226); None if unknown, or before Kafka
            4.2.
    """

    start_offset: int
    leader_epoch: int | None
    lag: int | None


async def list_share_group_offsets(
    call: Call, groups: Iterable[str]
) -> Results[str, dict[TopicPartition, ShareGroupOffset]]:
    """List the start offsets of share groups."""

    def build(pending: list[str]) -> Request:
        wanted = [{"group_id": group, "topics": None} for group in pending]
        return Request("DescribeShareGroupOffsets", {"groups": wanted})

    def read(
        response: Response, _: list[str]
    ) -> Results[str, dict[TopicPartition, ShareGroupOffset]]:
        return {each["group_id"]: _offsets_of(each) for each in response.body["groups"]}

    return await to_coordinators(call, groups, build, read)


def _offsets_of(body: Body) -> dict[TopicPartition, ShareGroupOffset] | KafkaError:
    group = body["group_id"]
    if error := error_of(body, api="DescribeShareGroupOffsets", resource=group):
        return error
    offsets = {}
    for topic in body["topics"]:
        for each in topic["partitions"]:
            topic_partition = topic["topic_name"], each["partition_index"]
            if error := error_of(
                each,
                topic=topic_partition[0],
                partition=topic_partition[1],
                api="DescribeShareGroupOffsets",
                resource=group,
            ):
                return error
            # A partition that no member has read yet has no offset.
            if each["start_offset"] >= 0:
                offsets[topic_partition] = ShareGroupOffset(
                    each["start_offset"], known(each["leader_epoch"]), known(each.get("lag", -1))
                )
    return dict(sorted(offsets.items()))


async def alter_share_group_offsets(
    call: Call, group: str, offsets: Mapping[TopicPartition, int]
) -> Results[TopicPartition, None]:
    """Set the start offsets of a group without members."""
    topics: dict[str, list[Body]] = {}
    for (topic, partition), offset in offsets.items():
        entry = {"partition_index": partition, "start_offset": offset}
        topics.setdefault(topic, []).append(entry)
    entries = [{"topic_name": name, "partitions": found} for name, found in topics.items()]

    def read(body: Body) -> Results[TopicPartition, None] | KafkaError:
        return error_of(body, api=_ALTER, resource=group) or {
            (topic["topic_name"], each["partition_index"]): error_of(
                each,
                topic=topic["topic_name"],
                partition=each["partition_index"],
                api=_ALTER,
                resource=group,
            )
            for topic in body["responses"]
            for each in topic["partitions"]
        }

    request = Request(_ALTER, {"group_id": group, "topics": entries})
    return await change_offsets(call, group, request, offsets, read)


async def plan_alterations(call: Call, group: str, offsets: Mapping[TopicPartition, int]) -> Plan:
    """Return the offsets before and after; those that a partition has, if it lacks the new one."""
    await _check(call, group, _ALTER)
    current = settle(await list_share_group_offsets(call, [group]), "raise")[group]
    bounds = await offset_bounds(call, offsets)
    changes = []
    for topic_partition, offset in offsets.items():
        before = str(current[topic_partition].start_offset) if topic_partition in current else None
        detail = place_text(topic_partition, offset, bounds[topic_partition])
        if before != str(offset):
            changes.append(PlannedChange("alter", f"group {group}", detail, before, str(offset)))
    return Plan(changes)


async def delete_share_group_offsets(
    call: Call, group: str, topics: Iterable[str]
) -> Results[str, None]:
    """Delete the start offsets of topics of a group without members."""
    wanted = list(topics)

    def read(body: Body) -> Results[str, None] | KafkaError:
        return error_of(body, api=_DELETE, resource=group) or {
            each["topic_name"]: error_of(
                each, topic=each["topic_name"], api=_DELETE, resource=group
            )
            for each in body["responses"]
        }

    entries = [{"topic_name": topic} for topic in wanted]
    request = Request(_DELETE, {"group_id": group, "topics": entries})
    return await change_offsets(call, group, request, wanted, read)


async def plan_deletion(call: Call, group: str, topics: Iterable[str]) -> Plan:
    """Return the offsets that would be deleted."""
    if await _check(call, group, _DELETE) is None:
        raise error_of_code(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group}")
    current = settle(await list_share_group_offsets(call, [group]), "raise")[group]
    changes = []
    for topic in topics:
        found = {
            topic_partition: each
            for topic_partition, each in current.items()
            if topic_partition[0] == topic
        }
        if not found:
            raise error_of_code(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"group {group} has no offsets of it",
                topic=topic,
            )
        changes += [
            PlannedChange(
                "delete",
                f"offset of group {group}",
                f"{topic}-{partition}",
                str(each.start_offset),
                "none",
            )
            for (_, partition), each in found.items()
        ]
    return Plan(changes)


async def _check(call: Call, group: str, api: str) -> GroupDescription | None:
    """Return the group, or None, after the checks that its coordinator makes."""
    await call.check(Request(api, {"group_id": group, "topics": []}))
    found = await find_group(call, group)
    if found and found.type != "Share":
        raise error_of_code(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group} is not a share group")
    if found and found.members:
        raise error_of_code(ErrorCode.NON_EMPTY_GROUP, f"group {group}: stop its members first")
    return found
