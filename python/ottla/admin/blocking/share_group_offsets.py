"""Calls about the start offsets of share groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, overload

from ottla._internal import arguments
from ottla._internal.required_arguments import flag
from ottla.admin import share_group_offsets
from ottla.admin.destinations import TopicPartition
from ottla.admin.items import ItemErrors, settled
from ottla.admin.operation_runners import BlockingCalls
from ottla.admin.plan import Plan
from ottla.admin.share_group_offsets import ShareGroupOffset
from ottla.errors import KafkaError


class ShareGroupOffsetCalls(BlockingCalls):
    """Lists, alters and deletes the start offsets of share groups."""

    @overload
    def list_share_group_offsets(
        self,
        groups: Iterable[str],
        *,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[str, dict[TopicPartition, ShareGroupOffset]]: ...
    @overload
    def list_share_group_offsets(
        self,
        groups: Iterable[str],
        *,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[str, dict[TopicPartition, ShareGroupOffset] | KafkaError]: ...
    def list_share_group_offsets(
        self,
        groups: Iterable[str],
        *,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """List the start offsets of share groups (KIP-932), and their lag (KIP-1226).

        Args:
            groups: their ids. One that does not exist, or is no share group, has no offsets.
            errors: what to do with the error of one group: ``"raise"`` the first one, or
                ``"return"`` each in place of the offsets.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The offsets by ``(topic, partition)``, by group. A partition that no member has read is
            left out.

        Raises:
            AuthorizationError: the principal may not describe a group.
            BrokerError: the brokers do not support it (before Kafka 4.1).
            TimeoutError: a coordinator did not respond in time.
        """
        groups = arguments.names("groups", groups)
        return self._run(
            "listing the offsets of share groups",
            timeout,
            settled(
                errors, lambda call: share_group_offsets.list_share_group_offsets(call, groups)
            ),
        )

    @overload
    def alter_share_group_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        *,
        dry_run: Literal[False] = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> dict[TopicPartition, KafkaError | None]: ...
    @overload
    def alter_share_group_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        *,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    def alter_share_group_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        *,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Set the start offsets of a share group without members; creates the group if needed.

        All records from there on are delivered, also those that were done before.

        Args:
            group: the id of the group.
            offsets: the offset of the first record to deliver, by ``(topic, partition)``. The
                brokers accept any, also one that the partition does not have.
            dry_run: whether to change nothing, and return a plan, which names the offsets that the
                partition has if the new one is not among them.
            errors: what to do with the error of one partition: ``"raise"`` the first one, or
                ``"return"`` each.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By ``(topic, partition)``, None for success or the error; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not read the group or a topic.
            BrokerError: the group has members or is no share group, or the brokers do not support
                it (before Kafka 4.1).
            TimeoutError: the coordinator did not respond in time.
            UnknownTopicError: a partition does not exist.
        """
        group = arguments.text("group", group)
        offsets = arguments.offsets("offsets", offsets)
        if flag("dry_run", dry_run):
            return self._run(
                "checking the offsets of a share group",
                timeout,
                lambda call: share_group_offsets.plan_alterations(call, group, offsets),
            )
        return self._run(
            "altering the offsets of a share group",
            timeout,
            settled(
                errors,
                lambda call: share_group_offsets.alter_share_group_offsets(call, group, offsets),
            ),
        )

    @overload
    def delete_share_group_offsets(
        self,
        group: str,
        topics: Iterable[str],
        *,
        dry_run: Literal[False] = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> dict[str, KafkaError | None]: ...
    @overload
    def delete_share_group_offsets(
        self,
        group: str,
        topics: Iterable[str],
        *,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    def delete_share_group_offsets(
        self,
        group: str,
        topics: Iterable[str],
        *,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Delete the start offsets of topics from a share group without members.

        Args:
            group: the id of the group.
            topics: the topics.
            dry_run: whether to change nothing, and return a plan.
            errors: what to do with the error of one topic: ``"raise"`` the first one, or
                ``"return"`` each.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By topic, None for success or the error; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not delete the group or read a topic.
            BrokerError: the group has members or does not exist, or the brokers do not support it
                (before Kafka 4.1).
            TimeoutError: the coordinator did not respond in time.
            UnknownTopicError: a topic does not exist, or the group has no offsets of it.
        """
        group = arguments.text("group", group)
        topics = arguments.names("topics", topics)
        if flag("dry_run", dry_run):
            return self._run(
                "checking the offsets of a share group",
                timeout,
                lambda call: share_group_offsets.plan_deletion(call, group, topics),
            )
        return self._run(
            "deleting offsets of a share group",
            timeout,
            settled(
                errors,
                lambda call: share_group_offsets.delete_share_group_offsets(call, group, topics),
            ),
        )
