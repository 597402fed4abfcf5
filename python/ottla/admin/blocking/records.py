"""Calls about the records of partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

from ottla._internal import arguments
from ottla._internal.required_arguments import flag
from ottla.admin import records
from ottla.admin.destinations import TopicPartition
from ottla.admin.items import ItemErrors, settled
from ottla.admin.operation_runners import BlockingCalls
from ottla.admin.plan import Plan
from ottla.errors import KafkaError


class RecordCalls(BlockingCalls):
    """Deletes records."""

    @overload
    def delete_records(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        dry_run: Literal[False] = False,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[TopicPartition, int]: ...
    @overload
    def delete_records(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        dry_run: Literal[False] = False,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[TopicPartition, int | KafkaError]: ...
    @overload
    def delete_records(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    def delete_records(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Delete the records before offsets.

        Args:
            offsets: the first offset to keep by ``(topic, partition)``; -1 keeps none.
            dry_run: whether to delete nothing, and return a plan: the first offset of each
                partition before and after, and how many records go at most.
            errors: what to do with the error of one partition: ``"raise"`` the first one, or
                ``"return"`` each in place of the offset.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The first offset of each partition afterwards; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not delete records of a topic.
            BrokerError: a topic is compacted only.
            DataLossError: an offset is behind the end.
            TimeoutError: a leader did not respond in time.
            UnknownTopicError: a partition does not exist, or a topic is internal.
        """
        offsets = arguments.offsets("offsets", offsets)
        if flag("dry_run", dry_run):
            return self._run(
                "checking records", timeout, lambda call: records.plan_deletion(call, offsets)
            )
        return self._run(
            "deleting records",
            timeout,
            settled(errors, lambda call: records.delete_records(call, offsets)),
        )
