"""Descriptions of groups, with their members and assignments.

Invariant: a group is described by the protocol that it has: KIP-848's, the classic one, that of
share groups (KIP-932) or that of Kafka Streams (KIP-1071).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ottla._core import error_of_code
from ottla.admin.authorized_operations import operations_of
from ottla.admin.coordinators import coordinator_finder
from ottla.admin.destinations import TopicPartition, by_destination
from ottla.admin.items import Results, error_of
from ottla.admin.member_assignment import decode_assignment, decode_subscription
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.admin.streams_groups import StreamsMember, StreamsTopology, member_of, topology_of
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError

# Describes groups of each type, the newest first.
_DESCRIBING = {
    "Classic": "DescribeGroups",
    "Consumer": "ConsumerGroupDescribe",
    "Share": "ShareGroupDescribe",
    "Streams": "StreamsGroupDescribe",
}


@dataclass(frozen=True)
class MemberDescription:
    """A member of a group.

    Attributes:
        member_id: its id.
        instance_id: its ``group.instance.id``, if it is static.
        client_id: its ``client.id``.
        host: the address that it connects from.
        rack: its ``client.rack``, if it is known.
        epoch: its epoch; None in classic groups.
        subscribed_topics: the topics that it names; empty in classic groups that are not stable,
            and if they are encoded in a way that only its clients know.
        subscribed_pattern: the pattern that the brokers match for it, if any.
        assignment: its partitions; None in groups of Kafka Streams, and if they are encoded in a
            way that only its clients know.
        target_assignment: its partitions after the rebalance; None in groups of other types than
            ``Consumer``.
        streams: its process and its tasks in a group of Kafka Streams; None in others.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    rack: str | None
    epoch: int | None
    subscribed_topics: list[str]
    subscribed_pattern: str | None
    assignment: list[TopicPartition] | None
    target_assignment: list[TopicPartition] | None
    streams: StreamsMember | None = None


@dataclass(frozen=True)
class GroupDescription:
    """A group.

    Attributes:
        group_id: its id.
        type: ``Classic``, ``Consumer``, ``Share`` or ``Streams``.
        state: its state, such as ``Stable`` or ``Empty``.
        protocol_type: ``consumer`` for groups of consumers.
        assignor: the name of its assignor; empty if the brokers do not report it.
        epoch: its epoch, which grows with each change of its members or topics; None for classic
            groups.
        assignment_epoch: the epoch of its target assignment; None for classic groups.
        coordinator: the id of the broker that coordinates it.
        members: its members, in the order of their ids.
        authorized_operations: what the principal may do with it, such as ``READ`` (KIP-430); None
            if it was not asked for.
        topology: the topology of a group of Kafka Streams; None for others, and before its first
            member.
    """

    group_id: str
    type: str
    state: str
    protocol_type: str
    assignor: str
    epoch: int | None
    assignment_epoch: int | None
    coordinator: int
    members: list[MemberDescription] = field(default_factory=list)
    authorized_operations: list[str] | None = None
    topology: StreamsTopology | None = None


def _member_of_classic(body: Body) -> MemberDescription:
    return MemberDescription(
        body["member_id"],
        body.get("group_instance_id"),
        body["client_id"],
        body["client_host"],
        None,
        None,
        decode_subscription(body["member_metadata"]),
        None,
        decode_assignment(body["member_assignment"]),
        None,
    )


def _places(assignment: Body) -> list[TopicPartition]:
    return sorted(
        (topic["topic_name"], partition)
        for topic in assignment["topic_partitions"]
        for partition in topic["partitions"]
    )


def _member(body: Body, group_type: str) -> MemberDescription:
    is_streams = group_type == "Streams"
    return MemberDescription(
        body["member_id"],
        body.get("instance_id"),
        body["client_id"],
        body["client_host"],
        body.get("rack_id"),
        body.get("member_epoch"),
        body.get("subscribed_topic_names") or [],
        body.get("subscribed_topic_regex"),
        None if is_streams else _places(body["assignment"]),
        _places(body["target_assignment"]) if group_type == "Consumer" else None,
        member_of(body) if is_streams else None,
    )


def _classic(body: Body, coordinator: int) -> GroupDescription:
    members = sorted(map(_member_of_classic, body["members"]), key=lambda each: each.member_id)
    return GroupDescription(
        body["group_id"],
        "Classic",
        body["group_state"],
        body["protocol_type"],
        body["protocol_data"],
        None,
        None,
        coordinator,
        members,
        operations_of(body.get("authorized_operations")),
    )


def _newer(body: Body, group_type: str, coordinator: int) -> GroupDescription:
    members = [_member(each, group_type) for each in body["members"]]
    return GroupDescription(
        body["group_id"],
        group_type,
        body["group_state"],
        group_type.lower(),
        body.get("assignor_name") or "",
        body["group_epoch"],
        body["assignment_epoch"],
        coordinator,
        sorted(members, key=lambda each: each.member_id),
        operations_of(body.get("authorized_operations")),
        topology_of(body["topology"]) if group_type == "Streams" else None,
    )


async def describe_groups(
    call: Call, groups: Iterable[str], *, authorized_operations: bool
) -> Results[str, GroupDescription]:
    """Describe groups of any type."""
    results: Results[str, GroupDescription] = dict.fromkeys(groups, _not_found())
    pending = list(results)
    for group_type in ("Consumer", "Classic", "Share", "Streams"):
        if not pending:
            break
        described = await _describe(call, pending, group_type, authorized_operations)
        pending = []
        for group, result in described.items():
            if isinstance(result, KafkaError) and result.code in {
                ErrorCode.GROUP_ID_NOT_FOUND,
                ErrorCode.UNSUPPORTED_VERSION,
            }:
                pending.append(group)
            else:
                results[group] = result
    return {
        group: error_of_code(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group}")
        if isinstance(result, KafkaError) and group in pending
        else result
        for group, result in results.items()
    }


async def find_group(call: Call, group: str) -> GroupDescription | None:
    """Describe a group; None if it does not exist.

    Raises:
        KafkaError: it cannot be described.
    """
    found = (await describe_groups(call, [group], authorized_operations=False))[group]
    if not isinstance(found, KafkaError):
        return found
    if found.code != ErrorCode.GROUP_ID_NOT_FOUND:
        raise found
    return None


def _not_found() -> KafkaError:
    return error_of_code(ErrorCode.GROUP_ID_NOT_FOUND)


async def _describe(
    call: Call, groups: list[str], group_type: str, authorized_operations: bool
) -> Results[str, GroupDescription]:
    coordinators: dict[str, int] = {}
    find_coordinators = coordinator_finder(call)

    async def find(pending: list[str]) -> dict[str, int | KafkaError]:
        found = await find_coordinators(pending)
        coordinators.update({group: node for group, node in found.items() if isinstance(node, int)})
        return found

    def build(pending: list[str]) -> Request:
        operations = {"include_authorized_operations": authorized_operations}
        if group_type == "Classic":
            body = {"groups": pending}
            return Request(_DESCRIBING[group_type], body | operations, older=(body,))
        return Request(_DESCRIBING[group_type], {"group_ids": pending} | operations)

    def read(response: Response, _: list[str]) -> Results[str, GroupDescription]:
        results: Results[str, GroupDescription] = {}
        for each in response.body["groups"]:
            group = each["group_id"]
            if error := error_of(
                each, f"group {group}", api=_DESCRIBING[group_type], resource=group
            ):
                results[group] = error
            elif group_type != "Classic":
                results[group] = _newer(each, group_type, coordinators[group])
            elif each["group_state"] == "Dead":
                # Before Kafka 4.0, the coordinator says so that it does not know the group.
                results[group] = _not_found()
            else:
                results[group] = _classic(each, coordinators[group])
        return results

    return await by_destination(call, groups, find, build, read)
