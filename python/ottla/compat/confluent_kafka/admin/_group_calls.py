"""Calls about groups of consumers: list, describe and delete them.

Invariant: a group of another type, such as a share group, is none of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from ottla.admin import GroupDescription, group_descriptions, groups
from ottla.admin import MemberDescription as OttlaMember
from ottla.admin.coordinators import group_coordinators
from ottla.admin.destinations import TopicPartition as Place
from ottla.admin.destinations import broker_ids
from ottla.admin.items import Results, error_of
from ottla.admin.operation_call import Body, Call, Request
from ottla.compat.confluent_kafka._errors import kafka_error
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._model import ConsumerGroupState, ConsumerGroupType, Node
from ottla.compat.confluent_kafka._topic_partition import TopicPartition
from ottla.compat.confluent_kafka.admin import _options
from ottla.compat.confluent_kafka.admin._acl import operations_of
from ottla.compat.confluent_kafka.admin._base import AdminBase, Futures, new_futures
from ottla.compat.confluent_kafka.admin._group import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    ListConsumerGroupsResult,
    MemberAssignment,
    MemberDescription,
)
from ottla.compat.confluent_kafka.admin._nodes import nodes_of
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError as OttlaError

_STATES = {
    "preparingrebalance": ConsumerGroupState.PREPARING_REBALANCING,
    "completingrebalance": ConsumerGroupState.COMPLETING_REBALANCING,
    "stable": ConsumerGroupState.STABLE,
    "dead": ConsumerGroupState.DEAD,
    "empty": ConsumerGroupState.EMPTY,
}
_TYPES = {"classic": ConsumerGroupType.CLASSIC, "consumer": ConsumerGroupType.CONSUMER}
# Offsets without members have no protocol type.
_OF_CONSUMERS = {"", "consumer"}


class GroupCalls(AdminBase):
    """Lists, describes and deletes groups."""

    def list_consumer_groups(self, **kwargs: Any) -> Future[ListConsumerGroupsResult]:
        """List groups.

        Args:
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.
                ``states``: a set of states. Default: all. ``types``: a set of types. Default: all.

        Returns:
            A future of the groups, and of the errors of brokers that did not list theirs.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        _options.check_known(kwargs, "request_timeout", "states", "types")
        states = _members(kwargs, "states", ConsumerGroupState)
        types = _members(kwargs, "types", ConsumerGroupType)
        if ConsumerGroupType.UNKNOWN in types:
            raise ValueError("types: UNKNOWN is no type")
        self._check_open()
        timeout = self._request_timeout(kwargs)

        async def list_all(call: Call) -> ListConsumerGroupsResult:
            found, failed = await _listings(call)
            chosen = [
                each
                for each in found
                if (not states or each.state in states) and (not types or each.type in types)
            ]
            return ListConsumerGroupsResult(chosen, failed)

        return self._start_one("listing groups", timeout, list_all)

    def describe_consumer_groups(self, group_ids: list[str], **kwargs: Any) -> Futures[str]:
        """Describe groups. One that does not exist has the state ``DEAD``.

        Args:
            group_ids: their ids.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.
                ``include_authorized_operations``: whether to ask what the principal may do.

        Returns:
            By id, a future of a ``ConsumerGroupDescription``.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        _check_ids(group_ids)
        futures = new_futures(group_ids)
        _options.check_known(kwargs, "request_timeout", "include_authorized_operations")
        authorized = _options.flag(kwargs, "include_authorized_operations")
        self._check_open()
        timeout = self._request_timeout(kwargs)
        if _options.has_duplicates(group_ids):
            return self._refuse(futures, KafkaError._INVALID_ARG, "Duplicate groups not allowed")

        async def describe(call: Call) -> Results[str, ConsumerGroupDescription]:
            found = await group_descriptions.describe_groups(
                call, group_ids, authorized_operations=authorized
            )
            return await _descriptions(call, found)

        return self._start_items("describing groups", timeout, futures, describe)

    def delete_consumer_groups(self, group_ids: list[str], **kwargs: Any) -> Futures[str]:
        """Delete groups without members, with all their offsets.

        Args:
            group_ids: their ids.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.

        Returns:
            By id, a future of None.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        _check_ids(group_ids)
        futures = new_futures(group_ids)
        _options.check_known(kwargs, "request_timeout")
        self._check_open()
        timeout = self._request_timeout(kwargs)
        if _options.has_duplicates(group_ids):
            return self._refuse(futures, KafkaError._INVALID_ARG, "Duplicate groups not allowed")

        async def delete(call: Call) -> Results[str, None]:
            return await groups.delete_groups(call, group_ids)

        return self._start_items("deleting groups", timeout, futures, delete, "change")


def _members(options: Mapping[str, Any], name: str, kind: type[Any]) -> set[Any]:
    """Return the members that an option lists; none stands for all."""
    value = options.get(name)
    if value is None:
        return set()
    if not isinstance(value, set) or not all(isinstance(each, kind) for each in value):
        raise TypeError(f"{name} must be a set of {kind.__name__}")
    return value


def _check_ids(group_ids: object) -> None:
    if not isinstance(group_ids, list):
        raise TypeError(f"group_ids must be a list, not {type(group_ids).__name__}")
    _options.non_empty_list("group ids", group_ids)
    if not all(isinstance(each, str) for each in group_ids):
        raise ValueError("group_ids must be a list of str")


async def _listings(call: Call) -> tuple[list[ConsumerGroupListing], list[KafkaError]]:
    """Return the groups of all brokers, and the errors of brokers."""
    brokers = await broker_ids(call)
    responses = await call.send([Request("ListGroups", {}, broker) for broker in brokers])
    found: dict[str, ConsumerGroupListing] = {}
    failed = []
    for broker, response in zip(brokers, responses, strict=True):
        if isinstance(response, OttlaError):
            failed.append(kafka_error(response))
        elif error := error_of(response.body, f"the groups of broker {broker}", api="ListGroups"):
            failed.append(kafka_error(error))
        else:
            listings = map(_listing, response.body["groups"])
            found.update({each.group_id: each for each in listings if each is not None})
    return [found[group] for group in sorted(found)], failed


def _listing(body: Body) -> ConsumerGroupListing | None:
    """Return a group of a list; None if it is none of consumers."""
    if body["protocol_type"] not in _OF_CONSUMERS:
        return None
    return ConsumerGroupListing(
        body["group_id"],
        body["protocol_type"] == "",
        _STATES.get((body.get("group_state") or "").lower(), ConsumerGroupState.UNKNOWN),
        _TYPES.get((body.get("group_type") or "").lower(), ConsumerGroupType.UNKNOWN),
    )


async def _descriptions(
    call: Call, found: Results[str, GroupDescription]
) -> Results[str, ConsumerGroupDescription]:
    nodes = await nodes_of(call)

    def node(broker: int) -> Node | None:
        known = nodes.get(broker)
        return known and Node(known.id, known.host, known.port)

    missing = [group for group, each in found.items() if _is_missing(each)]
    coordinators = await group_coordinators(call, missing) if missing else {}
    results: Results[str, ConsumerGroupDescription] = {}
    for group, each in found.items():
        if group in coordinators:
            coordinator = coordinators[group]
            results[group] = (
                coordinator
                if isinstance(coordinator, OttlaError)
                else _dead(group, node(coordinator))
            )
        elif isinstance(each, OttlaError):
            results[group] = each
        else:
            results[group] = _description(each, node(each.coordinator))
    return results


def _is_missing(described: GroupDescription | OttlaError) -> bool:
    if isinstance(described, OttlaError):
        return described.code == ErrorCode.GROUP_ID_NOT_FOUND
    return described.type.lower() not in _TYPES


def _dead(group: str, coordinator: Node | None) -> ConsumerGroupDescription:
    state, kind = ConsumerGroupState.DEAD, ConsumerGroupType.CLASSIC
    return ConsumerGroupDescription(group, True, [], "", state, coordinator, None, kind)


def _description(group: GroupDescription, coordinator: Node | None) -> ConsumerGroupDescription:
    return ConsumerGroupDescription(
        group.group_id,
        group.protocol_type == "",
        [_member(each) for each in group.members],
        group.assignor,
        _STATES.get(group.state.lower(), ConsumerGroupState.UNKNOWN),
        coordinator,
        operations_of(group.authorized_operations),
        _TYPES[group.type.lower()],
    )


def _member(member: OttlaMember) -> MemberDescription:
    target = member.target_assignment
    return MemberDescription(
        member.member_id,
        member.client_id,
        member.host,
        _assignment(member.assignment or []),
        member.instance_id,
        None if target is None else _assignment(target),
    )


def _assignment(places: list[Place]) -> MemberAssignment:
    return MemberAssignment([TopicPartition(topic, partition) for topic, partition in places])
