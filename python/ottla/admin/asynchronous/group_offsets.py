# Made by tools/twins.py from ../blocking/group_offsets.py: change that file.
"""Calls about the committed offsets of groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, overload

from ottla._internal import arguments
from ottla._internal.required_arguments import flag
from ottla.admin import group_offsets, lag, resetting
from ottla.admin.destinations import TopicPartition
from ottla.admin.group_offsets import CommittedOffset
from ottla.admin.items import ItemErrors, settled
from ottla.admin.lag import PartitionLag
from ottla.admin.offsets import IsolationLevel
from ottla.admin.operation_runners import AsynchronousCalls
from ottla.admin.plan import Plan
from ottla.admin.resetting import ResetTarget
from ottla.admin.tables import Table
from ottla.errors import KafkaError


class AsyncGroupOffsetCalls(AsynchronousCalls):
    """Lists, alters and deletes committed offsets, and reports the lag."""

    @overload
    async def list_group_offsets(
        self,
        groups: Iterable[str],
        *,
        require_stable: bool = False,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[str, dict[TopicPartition, CommittedOffset]]: ...
    @overload
    async def list_group_offsets(
        self,
        groups: Iterable[str],
        *,
        require_stable: bool = False,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[str, dict[TopicPartition, CommittedOffset] | KafkaError]: ...
    async def list_group_offsets(
        self,
        groups: Iterable[str],
        *,
        require_stable: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """List the committed offsets of groups.

        Args:
            groups: their ids. One that does not exist has no offsets.
            require_stable: whether to wait for open transactions that commit offsets (KIP-447).
            errors: what to do with the error of one group: ``"raise"`` the first one, or
                ``"return"`` each in place of the offsets.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The offsets by ``(topic, partition)``, by group.

        Raises:
            AuthorizationError: the principal may not describe a group or a topic.
            TimeoutError: a coordinator did not respond in time.
        """
        require_stable = flag("require_stable", require_stable)
        groups = arguments.names("groups", groups)
        return await self._run(
            "listing the offsets of groups",
            timeout,
            settled(
                errors,
                lambda call: group_offsets.list_group_offsets(
                    call, groups, require_stable=require_stable
                ),
            ),
        )

    @overload
    async def alter_group_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int | CommittedOffset],
        *,
        dry_run: Literal[False] = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> dict[TopicPartition, KafkaError | None]: ...
    @overload
    async def alter_group_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int | CommittedOffset],
        *,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    async def alter_group_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int | CommittedOffset],
        *,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Set the committed offsets of a group without members; creates the group if needed.

        Args:
            group: the id of the group.
            offsets: the offset of the next record to read, by ``(topic, partition)``.
            dry_run: whether to change nothing, and return a plan, which names the offsets that the
                partition has if the new one is not among them.
            errors: what to do with the error of one partition: ``"raise"`` the first one, or
                ``"return"`` each.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By ``(topic, partition)``, None for success or the error; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not commit for the group or a topic.
            FencedError: the group has members; only they may commit.
            TimeoutError: the coordinator did not respond in time.
            UnknownTopicError: a partition does not exist.
        """
        group = arguments.text("group", group)
        committed = group_offsets.committed_offsets(offsets)
        if flag("dry_run", dry_run):
            return await self._run(
                "checking the offsets of a group",
                timeout,
                lambda call: group_offsets.plan_alterations(call, group, committed),
            )
        return await self._run(
            "altering the offsets of a group",
            timeout,
            settled(errors, lambda call: group_offsets.alter_group_offsets(call, group, committed)),
        )

    @overload
    async def delete_group_offsets(
        self,
        group: str,
        partitions: Iterable[TopicPartition],
        *,
        dry_run: Literal[False] = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> dict[TopicPartition, KafkaError | None]: ...
    @overload
    async def delete_group_offsets(
        self,
        group: str,
        partitions: Iterable[TopicPartition],
        *,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    async def delete_group_offsets(
        self,
        group: str,
        partitions: Iterable[TopicPartition],
        *,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Delete committed offsets of topics that no member subscribes to (KIP-496).

        Args:
            group: the id of the group.
            partitions: the partitions, as ``(topic, partition)``.
            dry_run: whether to change nothing, and return a plan.
            errors: what to do with the error of one partition: ``"raise"`` the first one, or
                ``"return"`` each.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By ``(topic, partition)``, None for success or the error; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not delete from the group or read a topic.
            BrokerError: the group does not exist, or has members that subscribe to the topic.
            TimeoutError: the coordinator did not respond in time.
            UnknownTopicError: a partition does not exist.
        """
        group = arguments.text("group", group)
        partitions = arguments.partitions("partitions", partitions)
        if flag("dry_run", dry_run):
            return await self._run(
                "checking the offsets of a group",
                timeout,
                lambda call: group_offsets.plan_deletion(call, group, partitions),
            )
        return await self._run(
            "deleting offsets of a group",
            timeout,
            settled(
                errors, lambda call: group_offsets.delete_group_offsets(call, group, partitions)
            ),
        )

    async def reset_group_offsets(
        self,
        group: str,
        target: ResetTarget,
        places: Iterable[str | TopicPartition] | None = None,
        *,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> Plan:
        """Reset the committed offsets of a group without members.

        Args:
            group: the id of the group.
            target: where to: ``"earliest"``, ``"latest"``, ``"current"`` (only back into the
                offsets that a partition has), an offset, a time, how long ago as a timedelta, or
                ``Shift(by)`` from the committed offset.
            places: topics, or partitions as ``(topic, partition)``. Default: those that the group
                has committed.
            dry_run: whether to change nothing.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            What was changed, or would be: the offset of each partition before and after.

        Raises:
            AuthorizationError: the principal may not commit for the group or a topic.
            ConfigError: the target is invalid, or the group has committed nothing.
            FencedError: the group has members; stop them first.
            TimeoutError: a broker did not respond in time.
            UnknownTopicError: a topic or a partition does not exist.
        """
        group = arguments.text("group", group)
        dry_run = flag("dry_run", dry_run)
        target = resetting.checked(target)
        if places is not None:
            places = arguments.topics_or_partitions("places", places)
        return await self._run(
            "resetting the offsets of a group",
            timeout,
            lambda call: resetting.reset_group_offsets(
                call, group, target, places, dry_run=dry_run
            ),
        )

    async def group_lag(
        self,
        group: str,
        *,
        isolation_level: IsolationLevel = "read_uncommitted",
        timeout: float | None = None,
    ) -> Table[PartitionLag]:
        """Return the lag of a group, in records and in time, and the member of each partition.

        Args:
            group: the id of the group.
            isolation_level: with ``"read_committed"``, records of open transactions do not count.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            A row for each partition that is committed or assigned, in order.

        Raises:
            AuthorizationError: the principal may not describe the group or a topic.
            BrokerError: the group does not exist.
            TimeoutError: a broker did not respond in time.
        """
        group = arguments.text("group", group)
        return await self._run(
            "looking up the lag of a group",
            timeout,
            lambda call: lag.group_lag(call, group, isolation_level=isolation_level),
        )
