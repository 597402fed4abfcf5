# Made by tools/twins.py from ../blocking/elections.py: change that file.
"""Calls about leader elections."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, overload

from ottla._internal import arguments
from ottla._internal.required_arguments import flag
from ottla.admin import elections
from ottla.admin.destinations import TopicPartition
from ottla.admin.items import ItemErrors, settled
from ottla.admin.operation_runners import AsynchronousCalls
from ottla.admin.plan import Plan
from ottla.errors import KafkaError


class AsyncElectionCalls(AsynchronousCalls):
    """Elects leaders."""

    @overload
    async def elect_leaders(
        self,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        unclean: bool = False,
        dry_run: Literal[False] = False,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[TopicPartition, bool]: ...
    @overload
    async def elect_leaders(
        self,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        unclean: bool = False,
        dry_run: Literal[False] = False,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[TopicPartition, bool | KafkaError]: ...
    @overload
    async def elect_leaders(
        self,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        unclean: bool = False,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    async def elect_leaders(
        self,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        unclean: bool = False,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Let the preferred replicas lead their partitions (KIP-460).

        Args:
            partitions: the partitions, as ``(topic, partition)``. Default: all of the cluster.
            unclean: whether to elect any replica that is alive for partitions without a leader,
                even one that is not in sync: the records that it lacks are lost.
            dry_run: whether to change nothing, and return a plan: the partitions that the preferred
                replica does not lead, or with ``unclean``, that have no leader.
            errors: what to do with the error of one partition: ``"raise"`` the first one, or
                ``"return"`` each in place of the result.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By partition, True if a leader was elected, False if that was not needed; of all
            partitions, only those where it was. For a dry run the plan.

        Raises:
            AuthorizationError: the principal may not alter the cluster.
            BrokerError: the preferred replica is not alive or not in sync; or for an unclean
                election, no replica is alive.
            TimeoutError: the controller did not respond in time.
            UnknownTopicError: a topic or a partition does not exist.
        """
        unclean = flag("unclean", unclean)
        wanted = None if partitions is None else arguments.partitions("partitions", partitions)
        if flag("dry_run", dry_run):
            return await self._run(
                "checking leaders",
                timeout,
                lambda call: elections.plan_elections(call, wanted, unclean=unclean),
            )
        return await self._run(
            "electing leaders",
            timeout,
            settled(errors, lambda call: elections.elect_leaders(call, wanted, unclean=unclean)),
        )
