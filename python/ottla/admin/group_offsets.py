"""The committed offsets of groups: list, alter and delete them.

Invariant: offsets are altered for groups without members only; the coordinator refuses others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import SupportsIndex, TypeVar

from ottla._core import error_of_code
from ottla._internal import arguments
from ottla.admin.coordinators import to_coordinators
from ottla.admin.destinations import TopicPartition
from ottla.admin.group_descriptions import GroupDescription, find_group
from ottla.admin.items import Results, error_of, is_repeated, known, left_out, settle
from ottla.admin.offsets import offset_bounds, place_text
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.admin.partitions import describe_partitions
from ottla.admin.plan import Plan, PlannedChange
from ottla.error_code import ErrorCode
from ottla.errors import FencedError, KafkaError

K = TypeVar("K", bound=Hashable)

# Later versions name topics by id alone.
_LAST_BY_NAME = 9


@dataclass(frozen=True)
class CommittedOffset:
    """An offset that a group has committed.

    Attributes:
        offset: the offset of the next record to read.
        leader_epoch: the leader epoch of the record before; None if unknown.
        metadata: text that the group stores with the offset, or None for none. Brokers store
            None as an empty text.
    """

    offset: int
    leader_epoch: int | None = None
    metadata: str | None = ""

    def __str__(self) -> str:
        """Return the offset, and what else is known."""
        epoch = [] if self.leader_epoch is None else [f"leader epoch {self.leader_epoch}"]
        extra = [*epoch, *([f"metadata {self.metadata!r}"] if self.metadata else [])]
        return f"{self.offset} ({', '.join(extra)})" if extra else str(self.offset)


def committed_offsets(
    offsets: Mapping[TopicPartition, SupportsIndex | CommittedOffset],
) -> dict[TopicPartition, CommittedOffset]:
    """Return offsets to commit.

    Raises:
        ArgumentTypeError: they are no mapping of partitions to offsets.
    """
    found = {}
    for topic_partition, each in arguments.by_partition("offsets", offsets, "42").items():
        number = each.offset if isinstance(each, CommittedOffset) else each
        offset = arguments.integer(f"offsets[{topic_partition!r}]", number, "an offset, such as 42")
        found[topic_partition] = (
            each if isinstance(each, CommittedOffset) else CommittedOffset(offset)
        )
    return found


async def list_group_offsets(
    call: Call, groups: Iterable[str], *, require_stable: bool = False
) -> Results[str, dict[TopicPartition, CommittedOffset]]:
    """List the committed offsets of groups."""

    def build(pending: list[str]) -> Request:
        wanted = [{"group_id": group, "topics": None} for group in pending]
        body = {"groups": wanted, "require_stable": require_stable}
        return Request("OffsetFetch", body, max_version=_LAST_BY_NAME)

    def read(
        response: Response, _: list[str]
    ) -> Results[str, dict[TopicPartition, CommittedOffset]]:
        groups = response.body["groups"]
        return {each["group_id"]: _offsets_of(each["group_id"], each) for each in groups}

    def build_one(pending: list[str]) -> Request:
        body = {"group_id": pending[0], "topics": None}
        stable = body | {"require_stable": require_stable}
        return Request("OffsetFetch", stable, older=() if require_stable else (body,))

    def read_one(
        response: Response, pending: list[str]
    ) -> Results[str, dict[TopicPartition, CommittedOffset]]:
        return {pending[0]: _offsets_of(pending[0], response.body)}

    results = await to_coordinators(call, groups, build, read)
    # Before Kafka 3.0, a request asks for one group (KIP-709).
    older = [
        group
        for group, result in results.items()
        if isinstance(result, KafkaError) and result.code == ErrorCode.UNSUPPORTED_VERSION
    ]
    results.update(await to_coordinators(call, older, build_one, read_one, batch=1))
    return results


def _offsets_of(group: str, body: Body) -> dict[TopicPartition, CommittedOffset] | KafkaError:
    if body.get("error_code") and (
        error := error_of(body, f"group {group}", api="OffsetFetch", resource=group)
    ):
        return error
    offsets = {}
    for topic in body["topics"]:
        for each in topic["partitions"]:
            topic_partition = topic["name"], each["partition_index"]
            if error := error_of(
                each,
                topic=topic_partition[0],
                partition=topic_partition[1],
                api="OffsetFetch",
                resource=group,
            ):
                return error
            if each["committed_offset"] >= 0:
                epoch = each.get("committed_leader_epoch", -1)
                offsets[topic_partition] = CommittedOffset(
                    each["committed_offset"], known(epoch), each["metadata"]
                )
    return offsets


def _by_topic(entries: Mapping[TopicPartition, Body]) -> list[Body]:
    topics: dict[str, list[Body]] = {}
    for (topic, partition), entry in entries.items():
        topics.setdefault(topic, []).append({"partition_index": partition} | entry)
    return [{"name": name, "partitions": partitions} for name, partitions in topics.items()]


async def change_offsets(
    call: Call,
    group: str,
    request: Request,
    items: Iterable[K],
    read_items: Callable[[Body], Results[K, None] | KafkaError],
) -> Results[K, None]:
    """Send a change of a group's offsets; the results are by item."""

    def read(response: Response, _: list[str]) -> Results[str, Results[K, None]]:
        results = read_items(response.body)
        if isinstance(results, KafkaError):
            return {group: results}
        # The group has one coordinator, so its items are tried again together.
        again = [error for error in results.values() if error and is_repeated(error)]
        return {group: again[0] if again else results}

    changed = await to_coordinators(call, [group], lambda _: request, read, changes=True)
    result = changed[group]
    if isinstance(result, KafkaError):
        return dict.fromkeys(items, result)
    return {item: result.get(item, left_out()) for item in items}


async def _change(
    call: Call, group: str, request: Request, partitions: Iterable[TopicPartition]
) -> Results[TopicPartition, None]:
    """Send a change of committed offsets."""

    def read(body: Body) -> Results[TopicPartition, None] | KafkaError:
        if body.get("error_code") and (
            error := error_of(body, f"group {group}", api=request.api, resource=group)
        ):
            return error
        return {
            (topic["name"], each["partition_index"]): _fenced(group, each)
            or error_of(
                each,
                topic=topic["name"],
                partition=each["partition_index"],
                api=request.api,
                resource=group,
            )
            for topic in body["topics"]
            for each in topic["partitions"]
        }

    return await change_offsets(call, group, request, partitions, read)


def _fenced(group: str, partition: Body) -> FencedError | None:
    return _has_members(group) if partition["error_code"] == ErrorCode.UNKNOWN_MEMBER_ID else None


def _has_members(group: str) -> FencedError:
    error = FencedError(
        f"UNKNOWN_MEMBER_ID ({int(ErrorCode.UNKNOWN_MEMBER_ID)}): the group has active members, "
        f"and only they may commit: stop the members of {group} first"
    )
    error.code, error.name = ErrorCode.UNKNOWN_MEMBER_ID, "UNKNOWN_MEMBER_ID"
    return error


async def alter_group_offsets(
    call: Call, group: str, offsets: Mapping[TopicPartition, CommittedOffset]
) -> Results[TopicPartition, None]:
    """Set the committed offsets of a group without members."""
    entries = {
        topic_partition: {
            "committed_offset": each.offset,
            "committed_leader_epoch": -1 if each.leader_epoch is None else each.leader_epoch,
            "committed_metadata": each.metadata,
        }
        for topic_partition, each in offsets.items()
    }
    body = {"group_id": group, "topics": _by_topic(entries)}
    request = Request("OffsetCommit", body, max_version=_LAST_BY_NAME)
    return await _change(call, group, request, offsets)


async def delete_group_offsets(
    call: Call, group: str, partitions: Iterable[TopicPartition]
) -> Results[TopicPartition, None]:
    """Delete committed offsets of topics that the group does not subscribe to."""
    wanted = list(partitions)
    body = {
        "group_id": group,
        "topics": _by_topic({topic_partition: {} for topic_partition in wanted}),
    }
    return await _change(call, group, Request("OffsetDelete", body), wanted)


async def check_no_members(call: Call, group: str) -> None:
    """Check that offsets may be committed for a group from outside; a new one may get them.

    Raises:
        BrokerError: it is a share group.
        FencedError: it has members.
    """
    found = await find_group(call, group)
    if found and found.type == "Share":
        raise error_of_code(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group} is a share group")
    if found and found.members:
        raise _has_members(group)


async def plan_alterations(
    call: Call, group: str, offsets: Mapping[TopicPartition, CommittedOffset]
) -> Plan:
    """Return the offsets before and after; those that a partition has, if it lacks the new one."""
    await check_no_members(call, group)
    committed = settle(await list_group_offsets(call, [group]), "raise")[group]
    bounds = await offset_bounds(call, offsets)
    return Plan(
        [
            PlannedChange(
                "alter",
                f"offset of group {group}",
                place_text(topic_partition, after.offset, bounds[topic_partition]),
                str(committed[topic_partition]) if topic_partition in committed else None,
                str(after),
            )
            for topic_partition, after in offsets.items()
            if committed.get(topic_partition) != after
        ]
    )


async def plan_deletion(call: Call, group: str, partitions: Iterable[TopicPartition]) -> Plan:
    """Return the committed offsets that would be deleted."""
    wanted = list(partitions)
    subscribed = _subscribed_topics(await find_group(call, group), group)
    await describe_partitions(call, wanted)
    for topic, partition in wanted:
        if topic in subscribed:
            raise error_of_code(
                ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
                f"group {group}",
                topic=topic,
                partition=partition,
            )
    committed = settle(await list_group_offsets(call, [group]), "raise")[group]
    return Plan(
        [
            PlannedChange(
                "delete",
                f"offset of group {group}",
                f"{topic_partition[0]}-{topic_partition[1]}",
                str(committed[topic_partition]),
            )
            for topic_partition in wanted
            if topic_partition in committed
        ]
    )


def _subscribed_topics(found: GroupDescription | None, group: str) -> set[str]:
    """Return the topics whose offsets the coordinator does not delete."""
    if found is None or found.type == "Share":
        raise error_of_code(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group}")
    if found.members and found.type == "Classic" and found.protocol_type != "consumer":
        raise error_of_code(ErrorCode.NON_EMPTY_GROUP, f"group {group}")
    # A member that subscribes by a pattern names no topics.
    return {
        topic
        for member in found.members
        for topic in (*member.subscribed_topics, *(each for each, _ in member.assignment or ()))
    }
