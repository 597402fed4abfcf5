# Made by tools/twins.py from ../blocking/groups.py: change that file.
"""Calls about groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, overload

from ottla._internal import arguments
from ottla._internal.required_arguments import flag
from ottla.admin import group_descriptions
from ottla.admin import groups as group_operations
from ottla.admin.group_descriptions import GroupDescription
from ottla.admin.groups import GroupListing
from ottla.admin.items import ItemErrors, completed, settled
from ottla.admin.operation_runners import AsynchronousCalls
from ottla.admin.plan import Plan
from ottla.admin.tables import Table
from ottla.errors import KafkaError


class AsyncGroupCalls(AsynchronousCalls):
    """Lists, describes and deletes groups."""

    async def list_groups(
        self,
        *,
        states: Sequence[str] = (),
        types: Sequence[str] = (),
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Table[GroupListing]:
        """List the groups that the principal may describe.

        Args:
            states: states such as ``Stable`` or ``Empty`` (Kafka 2.6). Default: all.
            types: ``Classic``, ``Consumer``, ``Share`` or ``Streams`` (Kafka 3.8). Default: all.
            errors: what to do if groups may be missing, since a broker did not list its groups or a
                partition of ``__consumer_offsets`` has no leader: ``"raise"`` the first error, or
                ``"return"`` all of them as ``errors`` of the table.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The groups, in the order of their ids. Partitions without leader are noticed only if
            the principal may describe ``__consumer_offsets``.

        Raises:
            BrokerError: a partition of ``__consumer_offsets`` has no leader, so no broker lists its
                groups.
            ConfigError: a state or a type does not exist; or the brokers do not report them, and
                one was asked for.
            TimeoutError: a broker did not respond in time.
        """
        states = arguments.names("states", states)
        types = arguments.names("types", types)
        group_operations.check_filters(states, types)
        return await self._run(
            "listing groups",
            timeout,
            completed(
                errors,
                lambda call: group_operations.list_groups(call, states=states, types=types),
            ),
        )

    @overload
    async def describe_groups(
        self,
        groups: Iterable[str],
        *,
        authorized_operations: bool = False,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[str, GroupDescription]: ...
    @overload
    async def describe_groups(
        self,
        groups: Iterable[str],
        *,
        authorized_operations: bool = False,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[str, GroupDescription | KafkaError]: ...
    async def describe_groups(
        self,
        groups: Iterable[str],
        *,
        authorized_operations: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Describe groups of any type: their states, members and assignments.

        Args:
            groups: their ids.
            authorized_operations: whether to ask what the principal may do with each (KIP-430).
            errors: what to do with the error of one group: ``"raise"`` the first one, or
                ``"return"`` each in place of the description.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The descriptions by id.

        Raises:
            AuthorizationError: the principal may not describe a group.
            BrokerError: a group does not exist.
            TimeoutError: a coordinator did not respond in time.
        """
        authorized_operations = flag("authorized_operations", authorized_operations)
        groups = arguments.names("groups", groups)
        return await self._run(
            "describing groups",
            timeout,
            settled(
                errors,
                lambda call: group_descriptions.describe_groups(
                    call, groups, authorized_operations=authorized_operations
                ),
            ),
        )

    @overload
    async def delete_groups(
        self,
        groups: Iterable[str],
        *,
        dry_run: Literal[False] = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> dict[str, KafkaError | None]: ...
    @overload
    async def delete_groups(
        self, groups: Iterable[str], *, dry_run: Literal[True], timeout: float | None = None
    ) -> Plan: ...
    async def delete_groups(
        self,
        groups: Iterable[str],
        *,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Delete groups without members, with all their offsets.

        Args:
            groups: their ids.
            dry_run: whether to delete nothing, and return a plan.
            errors: what to do with the error of one group: ``"raise"`` the first one, or
                ``"return"`` each.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By id, None for success or the error; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not delete a group.
            BrokerError: a group has members, or does not exist; with ``maybe_done``, this call may
                have deleted it.
            TimeoutError: a coordinator did not respond in time.
        """
        groups = arguments.names("groups", groups)
        if flag("dry_run", dry_run):
            return await self._run(
                "checking groups",
                timeout,
                lambda call: group_operations.plan_deletion(call, groups),
            )
        return await self._run(
            "deleting groups",
            timeout,
            settled(errors, lambda call: group_operations.delete_groups(call, groups)),
        )

    @overload
    async def remove_group_members(
        self,
        group: str,
        *,
        dry_run: Literal[False] = False,
        member_ids: Sequence[str] = (),
        instance_ids: Sequence[str] = (),
        reason: str | None = None,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> dict[str, KafkaError | None]: ...
    @overload
    async def remove_group_members(
        self,
        group: str,
        *,
        dry_run: Literal[True],
        member_ids: Sequence[str] = (),
        instance_ids: Sequence[str] = (),
        reason: str | None = None,
        timeout: float | None = None,
    ) -> Plan: ...
    async def remove_group_members(
        self,
        group: str,
        *,
        dry_run: bool = False,
        member_ids: Sequence[str] = (),
        instance_ids: Sequence[str] = (),
        reason: str | None = None,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Remove members from a group of consumers; all of them, if none is named (KIP-345).

        A member that is still alive joins again. Older brokers than Kafka 4.3 may refuse to remove
        members that use the protocol of KIP-848.

        Args:
            group: the id of the group.
            member_ids: members by id.
            instance_ids: static members by ``group.instance.id``.
            reason: a reason, which the coordinator logs (KIP-800).
            dry_run: whether to change nothing, and return a plan: the members, their clients and
                hosts, and their partitions.
            errors: what to do with the error of one member: ``"raise"`` the first one, or
                ``"return"`` each.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By member or instance id, None for success or the error; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not read the group.
            BrokerError: the group or a member does not exist.
            TimeoutError: the coordinator did not respond in time.
        """
        group = arguments.text("group", group)
        if reason is not None:
            reason = arguments.text("reason", reason)
        member_ids = arguments.names("member_ids", member_ids)
        instance_ids = arguments.names("instance_ids", instance_ids)
        if flag("dry_run", dry_run):
            return await self._run(
                "checking members",
                timeout,
                lambda call: group_operations.plan_removal(
                    call, group, member_ids=member_ids, instance_ids=instance_ids
                ),
            )
        return await self._run(
            "removing members",
            timeout,
            settled(
                errors,
                lambda call: group_operations.remove_members(
                    call, group, member_ids=member_ids, instance_ids=instance_ids, reason=reason
                ),
            ),
        )
