# Made by tools/twins.py from ../blocking/reassignments.py: change that file.
"""Calls about reassignments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, overload

from ottla._internal import arguments
from ottla._internal.required_arguments import flag
from ottla.admin import reassignments
from ottla.admin.destinations import TopicPartition
from ottla.admin.items import ItemErrors, settled
from ottla.admin.operation_runners import AsynchronousCalls
from ottla.admin.plan import Plan
from ottla.admin.reassignments import PartitionReassignment
from ottla.admin.tables import Table
from ottla.errors import KafkaError


class AsyncReassignmentCalls(AsynchronousCalls):
    """Starts, cancels and lists reassignments."""

    @overload
    async def alter_partition_reassignments(
        self,
        targets: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        dry_run: Literal[False] = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> dict[TopicPartition, KafkaError | None]: ...
    @overload
    async def alter_partition_reassignments(
        self,
        targets: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    async def alter_partition_reassignments(
        self,
        targets: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Move replicas of partitions to other brokers, or cancel that (KIP-455).

        The brokers copy them in the background: ``list_partition_reassignments`` shows how far.

        Args:
            targets: by ``(topic, partition)``, the brokers of its new replicas, the preferred
                leader first; None cancels the reassignment in progress.
            allow_replication_factor_change: whether the number of replicas may change; False needs
                Kafka 4.1 (KIP-860).
            dry_run: whether to change nothing, and return a plan with the bytes to copy.
            errors: what to do with the error of one partition: ``"raise"`` the first one, or
                ``"return"`` each.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By partition, None for success or the error; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not alter the cluster.
            BrokerError: a broker does not exist, there is nothing to cancel, or the number of
                replicas would change though it may not.
            ConfigError: the replicas of a partition are none, or name a broker twice.
            TimeoutError: the controller did not respond in time.
            UnknownTopicError: a topic or a partition does not exist.
        """
        allow_replication_factor_change = flag(
            "allow_replication_factor_change", allow_replication_factor_change
        )
        targets = reassignments.checked(targets)
        if flag("dry_run", dry_run):
            return await self._run(
                "checking reassignments",
                timeout,
                lambda call: reassignments.plan_reassignments(
                    call, targets, allow_replication_factor_change=allow_replication_factor_change
                ),
            )
        return await self._run(
            "altering reassignments",
            timeout,
            settled(
                errors,
                lambda call: reassignments.alter_partition_reassignments(
                    call, targets, allow_replication_factor_change=allow_replication_factor_change
                ),
            ),
        )

    async def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None, *, timeout: float | None = None
    ) -> Table[PartitionReassignment]:
        """List the reassignments in progress, and how much is copied.

        Args:
            partitions: of these partitions, as ``(topic, partition)``. Default: all.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The reassignments, in the order of topics and partitions. A partition that is not being
            reassigned, or does not exist, is left out.

        Raises:
            AuthorizationError: the principal may not describe the cluster.
            TimeoutError: the controller did not respond in time.
        """
        if partitions is not None:
            partitions = arguments.partitions("partitions", partitions)
        return await self._run(
            "listing reassignments",
            timeout,
            lambda call: reassignments.list_partition_reassignments(call, partitions),
        )
