"""Groups: list, describe and delete them, and remove members.

Invariant: a group is described by the protocol that it has: KIP-848's, the classic one, that of
share groups (KIP-932) or that of Kafka Streams (KIP-1071).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ottla._core import error_of_code
from ottla.admin.authorized_operations import operations_of
from ottla.admin.call import Body, Call, Request, Response
from ottla.admin.destinations import (
    TopicPartition,
    by_destination,
    from_all_brokers,
    group_coordinators,
)
from ottla.admin.items import Results, error_of, settle
from ottla.admin.member_assignment import decode_assignment
from ottla.admin.plan import Plan, PlannedChange
from ottla.admin.tables import Table
from ottla.errors import ConfigError, KafkaError, StateError

_GROUP_ID_NOT_FOUND, _UNSUPPORTED_VERSION = 69, 35
# Describes groups of each type, the newest first.
_DESCRIBING = {
    "Consumer": "ConsumerGroupDescribe",
    "Share": "ShareGroupDescribe",
    "Streams": "StreamsGroupDescribe",
}


@dataclass(frozen=True)
class GroupListing:
    """A group in a list.

    Attributes:
        group_id: its id.
        type: ``Classic``, ``Consumer``, ``Share`` or ``Streams``; None before Kafka 3.8.
        state: its state, such as ``Stable`` or ``Empty``; None before Kafka 2.6.
        protocol_type: ``consumer`` for groups of consumers; empty for offsets without members.
        coordinator: the id of the broker that coordinates it.
    """

    group_id: str
    type: str | None
    state: str | None
    protocol_type: str
    coordinator: int


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
        subscribed_topics: the topics that it names; empty in classic groups.
        subscribed_pattern: the pattern that the brokers match for it, if any.
        assignment: its partitions; None if they are encoded in a way that only its clients know.
        target_assignment: the partitions that it is to have; None in classic groups.
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


@dataclass(frozen=True)
class GroupDescription:
    """A group.

    Attributes:
        group_id: its id.
        type: ``Classic``, ``Consumer``, ``Share`` or ``Streams``.
        state: its state, such as ``Stable`` or ``Empty``.
        protocol_type: ``consumer`` for groups of consumers.
        assignor: the name of its assignor.
        epoch: its epoch; None for classic groups.
        coordinator: the id of the broker that coordinates it.
        members: its members, in the order of their ids.
        authorized_operations: what the principal may do with it, such as ``READ`` (KIP-430); None
            if it was not asked for.
    """

    group_id: str
    type: str
    state: str
    protocol_type: str
    assignor: str
    epoch: int | None
    coordinator: int
    members: list[MemberDescription] = field(default_factory=list)
    authorized_operations: list[str] | None = None


async def list_groups(
    call: Call, *, states: Sequence[str], types: Sequence[str]
) -> Table[GroupListing]:
    """List the groups of all coordinators."""
    listings = []
    for broker, body in (await from_all_brokers(call, "ListGroups", {})).items():
        if error := error_of(body):
            raise error
        for each in body["groups"]:
            listing = GroupListing(
                each["group_id"],
                (each.get("group_type") or "").capitalize() or None,
                each.get("group_state"),
                each["protocol_type"],
                broker,
            )
            if _is_wanted(listing.state, states) and _is_wanted(listing.type, types):
                listings.append(listing)
    # A group that moved between the responses is listed once.
    unique = {each.group_id: each for each in listings}
    return Table(GroupListing, [unique[group] for group in sorted(unique)])


def _is_wanted(value: str | None, wanted: Sequence[str]) -> bool:
    if not wanted:
        return True
    if value is None:
        raise ConfigError("these brokers do not tell the state and type of groups: list all")
    return value.casefold() in {each.casefold() for each in wanted}


def _member_of_classic(body: Body) -> MemberDescription:
    return MemberDescription(
        body["member_id"],
        body.get("group_instance_id"),
        body["client_id"],
        body["client_host"],
        None,
        None,
        [],
        None,
        decode_assignment(body["member_assignment"]),
        None,
    )


def _places(assignment: Body | None) -> list[TopicPartition]:
    return sorted(
        (topic["topic_name"], partition)
        for topic in (assignment or {}).get("topic_partitions", ())
        for partition in topic["partitions"]
    )


def _member(body: Body) -> MemberDescription:
    has_target = "target_assignment" in body
    return MemberDescription(
        body["member_id"],
        body.get("instance_id"),
        body["client_id"],
        body["client_host"],
        body.get("rack_id"),
        body.get("member_epoch"),
        body.get("subscribed_topic_names") or [],
        body.get("subscribed_topic_regex"),
        _places(body["assignment"]) if isinstance(body.get("assignment"), dict) else None,
        _places(body["target_assignment"])
        if has_target and "topic_partitions" in body["target_assignment"]
        else None,
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
        coordinator,
        members,
        operations_of(body.get("authorized_operations")),
    )


def _newer(body: Body, group_type: str, coordinator: int) -> GroupDescription:
    members = sorted(map(_member, body["members"]), key=lambda each: each.member_id)
    return GroupDescription(
        body["group_id"],
        group_type,
        body["group_state"],
        group_type.lower(),
        body.get("assignor_name", ""),
        body["group_epoch"],
        coordinator,
        members,
        operations_of(body.get("authorized_operations")),
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
                _GROUP_ID_NOT_FOUND,
                _UNSUPPORTED_VERSION,
            }:
                pending.append(group)
            else:
                results[group] = result
    return {
        group: error_of_code(_GROUP_ID_NOT_FOUND, f"group {group}")
        if isinstance(result, KafkaError) and group in pending
        else result
        for group, result in results.items()
    }


def _not_found() -> KafkaError:
    return error_of_code(_GROUP_ID_NOT_FOUND)


async def _describe(
    call: Call, groups: list[str], group_type: str, authorized_operations: bool
) -> Results[str, GroupDescription]:
    coordinators: dict[str, int] = {}

    async def find(pending: list[str]) -> dict[str, int | KafkaError]:
        found = await group_coordinators(call, pending)
        coordinators.update({group: node for group, node in found.items() if isinstance(node, int)})
        return found

    def build(pending: list[str]) -> Request:
        operations = {"include_authorized_operations": authorized_operations}
        if group_type == "Classic":
            body = {"groups": pending}
            return Request("DescribeGroups", body | operations, older=(body,))
        return Request(_DESCRIBING[group_type], {"group_ids": pending} | operations)

    def read(response: Response, _: list[str]) -> Results[str, GroupDescription]:
        results: Results[str, GroupDescription] = {}
        for each in response.body["groups"]:
            group = each["group_id"]
            if error := error_of(each):
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


async def delete_groups(call: Call, groups: Iterable[str]) -> Results[str, None]:
    """Delete groups without members."""

    async def find(pending: list[str]) -> dict[str, int | KafkaError]:
        return await group_coordinators(call, pending)

    def build(pending: list[str]) -> Request:
        return Request("DeleteGroups", {"groups_names": pending})

    def read(response: Response, _: list[str]) -> Results[str, None]:
        return {
            each["group_id"]: error_of(each, maybe_done=response.is_repeated)
            for each in response.body["results"]
        }

    return await by_destination(call, groups, find, build, read, changes=True)


async def plan_deletion(call: Call, groups: Iterable[str]) -> Plan:
    """Return what deleting groups would delete."""
    described = settle(await describe_groups(call, groups, authorized_operations=False), "raise")
    changes = []
    for group, description in described.items():
        if description.members:
            raise StateError(
                f"group {group} has {len(description.members)} members: stop them first"
            )
        changes.append(PlannedChange("delete", f"group {group}", description.state))
    return Plan(changes)


async def remove_members(
    call: Call,
    group: str,
    *,
    member_ids: Sequence[str],
    instance_ids: Sequence[str],
    reason: str | None,
) -> Results[str, None]:
    """Remove members from a group; all, if none is named.

    The results are by member id or instance id.
    """
    if not member_ids and not instance_ids:
        described = await describe_groups(call, [group], authorized_operations=False)
        description = described[group]
        if isinstance(description, KafkaError):
            raise description
        member_ids = [each.member_id for each in description.members]
        if not member_ids:
            return {}
    identities: list[Body] = [{"group_instance_id": each} for each in instance_ids]
    identities += [{"member_id": each} for each in member_ids]
    members = [each | {"reason": reason} for each in identities]

    async def find(pending: list[str]) -> dict[str, int | KafkaError]:
        return await group_coordinators(call, pending)

    def build(_: list[str]) -> Request:
        return Request("LeaveGroup", {"group_id": group, "members": members})

    def read(response: Response, _: list[str]) -> Results[str, Results[str, None]]:
        if error := error_of(response.body):
            return {group: error}
        return {
            group: {
                each["group_instance_id"] or each["member_id"]: error_of(each)
                for each in response.body["members"]
            }
        }

    results = await by_destination(call, [group], find, build, read, changes=True)
    result = results[group]
    if isinstance(result, KafkaError):
        raise result
    return result
