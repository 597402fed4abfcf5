"""The admin calls about groups and their members."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ottla import admin
from ottla.compat.kafka._errors import translated, translating
from ottla.compat.kafka.admin._base import AdminBase, error_class
from ottla.compat.kafka.admin._types import GroupState, GroupType, MemberToRemove
from ottla.compat.kafka.errors import BrokerResponseError

__all__ = ["Groups"]


class Groups(AdminBase):
    """The methods; ``KafkaAdminClient`` has the attributes."""

    def list_groups(
        self,
        broker_ids: Iterable[int] | None = None,
        states_filter: Iterable[Any] | None = None,
        types_filter: Iterable[Any] | None = None,
    ) -> list[dict[str, Any]]:
        """List groups.

        Args:
            broker_ids: only groups with one of these coordinators.
            states_filter: only groups in one of these states.
            types_filter: only groups of one of these types.
        """
        states = [GroupState.value_for(each) for each in states_filter or ()]
        types = [GroupType.value_for(each).capitalize() for each in types_filter or ()]
        chosen = None if broker_ids is None else set(broker_ids)
        with translating():
            found = self._admin.list_groups(states=states, types=types, timeout=self._seconds())
        return [
            {
                "group_id": group.group_id,
                "protocol_type": group.protocol_type,
                "group_state": group.state,
                "group_type": group.type,
            }
            for group in found
            if chosen is None or group.coordinator in chosen
        ]

    def describe_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
    ) -> dict[str, dict[str, Any]]:
        """Describe groups: their states, members and assignments."""
        names = list(group_ids)
        with translating():
            found = self._admin.describe_groups(
                names, authorized_operations=True, errors="return", timeout=self._seconds()
            )
        return {name: _described(name, found[name]) for name in names}

    def delete_groups(
        self, group_ids: Iterable[str], group_coordinator_id: int | None = None
    ) -> dict[str, str]:
        """Delete groups; returns ``OK`` or the name of the error of each."""
        with translating():
            found = self._admin.delete_groups(
                list(group_ids), errors="return", timeout=self._seconds()
            )
        return {
            name: "OK" if error is None else error_class(error).__name__
            for name, error in found.items()
        }

    def remove_group_members(
        self,
        group_id: str,
        members: Iterable[MemberToRemove],
        group_coordinator_id: int | None = None,
    ) -> dict[str, type[BrokerResponseError]]:
        """Remove members from a group; returns the class of the error of each."""
        wanted = list(members)
        if not wanted:
            return {}
        with translating():
            found = self._admin.remove_group_members(
                group_id,
                member_ids=[each.member_id for each in wanted if each.member_id],
                instance_ids=[
                    each.group_instance_id
                    for each in wanted
                    if each.group_instance_id and not each.member_id
                ],
                reason=next((each.reason for each in wanted if each.reason), None),
                errors="return",
                timeout=self._seconds(),
            )
        return {name: error_class(error) for name, error in found.items()}


def _described(name: str, found: admin.GroupDescription | Exception) -> dict[str, Any]:
    if isinstance(found, Exception):
        return {
            "error": str(translated(found)),
            "group_id": name,
            "group_state": "Dead",
            "protocol_type": "",
            "protocol_data": "",
            "members": [],
            "authorized_operations": None,
        }
    return {
        "error": None,
        "group_id": found.group_id,
        "group_state": found.state,
        "protocol_type": found.protocol_type,
        "protocol_data": found.assignor,
        "members": [_member(member) for member in found.members],
        "authorized_operations": found.authorized_operations,
    }


def _member(member: admin.MemberDescription) -> dict[str, Any]:
    topics: dict[str, list[int]] = {}
    for topic, partition in member.assignment or ():
        topics.setdefault(topic, []).append(partition)
    return {
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.host,
        "member_metadata": {"topics": member.subscribed_topics},
        "member_assignment": {
            "assigned_partitions": [
                {"topic": topic, "partitions": partitions} for topic, partitions in topics.items()
            ]
        },
    }
