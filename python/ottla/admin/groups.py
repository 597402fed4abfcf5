"""Groups: list and delete them, and remove members.

Invariant: a group with members is not deleted; the coordinator refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ottla._core import error_of_code
from ottla.admin import coordinator_topics
from ottla.admin.coordinators import to_coordinators
from ottla.admin.destinations import from_each_broker
from ottla.admin.group_descriptions import (
    MemberDescription,
    describe_groups,
)
from ottla.admin.items import Results, error_of, settle
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.admin.partitions import partitions_text
from ottla.admin.plan import Plan, PlannedChange
from ottla.admin.tables import Table
from ottla.error_code import ErrorCode
from ottla.errors import ConfigError, KafkaError, StateError

STATES = (
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
    "Empty",
    "Assigning",
    "Reconciling",
    "NotReady",
)
"""The states of groups of any type, by Kafka's names."""

TYPES = ("Classic", "Consumer", "Share", "Streams")
"""The types of groups, by Kafka's names."""

# The first release whose brokers list them.
_SINCE = {"state": "2.6", "type": "3.8"}


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


async def list_groups(
    call: Call, *, states: Sequence[str], types: Sequence[str]
) -> Table[GroupListing]:
    """List the groups of all coordinators, with the errors of those that did not list theirs."""
    listings = []
    errors = []
    for broker, body in (await from_each_broker(call, "ListGroups", {})).items():
        if isinstance(body, KafkaError):
            errors.append(body)
            continue
        for each in body["groups"]:
            listing = GroupListing(
                each["group_id"],
                (each.get("group_type") or "").capitalize() or None,
                each.get("group_state"),
                each["protocol_type"],
                broker,
            )
            if _is_wanted("state", listing.state, states) and _is_wanted(
                "type", listing.type, types
            ):
                listings.append(listing)
    # A group that moved between the responses is listed once.
    unique = {each.group_id: each for each in listings}
    errors += await coordinator_topics.errors_of(call, coordinator_topics.GROUPS, errors)
    return Table(GroupListing, [unique[group] for group in sorted(unique)], errors)


def check_filters(states: Sequence[str], types: Sequence[str]) -> None:
    """Check states and types of groups to list.

    Raises:
        ConfigError: one does not exist.
    """
    for what, given, known in (("state", states, STATES), ("type", types, TYPES)):
        for each in given:
            if each.casefold() not in {name.casefold() for name in known}:
                raise ConfigError(
                    f"{each!r} is not a {what} of groups: expected one of {', '.join(known)}"
                )


def _is_wanted(what: str, value: str | None, wanted: Sequence[str]) -> bool:
    if not wanted:
        return True
    if value is None:
        raise ConfigError(
            f"these brokers do not report the {what} of groups, which needs Kafka "
            f"{_SINCE[what]}: list all groups"
        )
    return value.casefold() in {each.casefold() for each in wanted}


async def delete_groups(call: Call, groups: Iterable[str]) -> Results[str, None]:
    """Delete groups without members."""

    def build(pending: list[str]) -> Request:
        return Request("DeleteGroups", {"groups_names": pending})

    def read(response: Response, _: list[str]) -> Results[str, None]:
        return {
            each["group_id"]: error_of(
                each,
                f"group {each['group_id']}",
                maybe_done=response.is_repeated,
                api="DeleteGroups",
                resource=each["group_id"],
            )
            for each in response.body["results"]
        }

    return await to_coordinators(call, groups, build, read, changes=True)


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

    def build(_: list[str]) -> Request:
        return Request("LeaveGroup", {"group_id": group, "members": members})

    def read(response: Response, _: list[str]) -> Results[str, Results[str, None]]:
        if error := error_of(response.body, f"group {group}", api="LeaveGroup", resource=group):
            return {group: error}
        members: Results[str, None] = {}
        for each in response.body["members"]:
            name = each["group_instance_id"] or each["member_id"]
            members[name] = error_of(
                each, f"member {name} of group {group}", api="LeaveGroup", resource=group
            )
        return {group: members}

    results = await to_coordinators(call, [group], build, read, changes=True)
    result = results[group]
    if isinstance(result, KafkaError):
        raise result
    return result


async def plan_removal(
    call: Call, group: str, *, member_ids: Sequence[str], instance_ids: Sequence[str]
) -> Plan:
    """Return the members that would be removed, and their partitions; all, if none is named."""
    described = settle(await describe_groups(call, [group], authorized_operations=False), "raise")
    description = described[group]
    if description.members and description.type not in {"Classic", "Consumer"}:
        message = (
            f"group {group} is of the type {description.type}: its members leave by themselves"
        )
        raise error_of_code(ErrorCode.UNKNOWN_MEMBER_ID, message)
    by_id = {each.member_id: each for each in description.members}
    by_instance = {each.instance_id: each for each in description.members if each.instance_id}
    if member_ids or instance_ids:
        named = [(each, by_instance.get(each)) for each in instance_ids]
        named += [(each, by_id.get(each)) for each in member_ids]
    else:
        named = [(each.member_id, each) for each in description.members]
    chosen: dict[str, MemberDescription] = {}
    for name, member in named:
        if member is None:
            raise error_of_code(ErrorCode.UNKNOWN_MEMBER_ID, f"member {name} of group {group}")
        chosen[member.member_id] = member
    return Plan(
        [
            PlannedChange(
                "remove",
                f"member {each.instance_id or each.member_id} ({each.client_id} at {each.host})",
                partitions_text(each.assignment or ()),
            )
            for each in chosen.values()
        ]
    )
