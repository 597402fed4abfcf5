# Made by tools/twins.py from ../blocking/cluster.py: change that file.
"""Calls about the cluster and its brokers."""

from __future__ import annotations

from typing import Any, Literal, overload

from ottla._internal import arguments
from ottla._internal.required_arguments import flag
from ottla.admin import cluster
from ottla.admin.cluster import ClusterDescription
from ottla.admin.operation_runners import AsynchronousCalls
from ottla.admin.plan import Plan


class AsyncClusterCalls(AsynchronousCalls):
    """Describes the cluster, and unregisters brokers."""

    async def describe_cluster(
        self,
        *,
        fenced: bool = False,
        authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> ClusterDescription:
        """Describe the cluster.

        Args:
            fenced: whether to list brokers that the controller has fenced too (KIP-1073).
            authorized_operations: whether to ask what the principal may do with it (KIP-430).
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The cluster.

        Raises:
            AuthorizationError: the principal may not describe the cluster.
            TimeoutError: no broker responded in time.
        """
        authorized_operations = flag("authorized_operations", authorized_operations)
        fenced = flag("fenced", fenced)
        return await self._run(
            "describing the cluster",
            timeout,
            lambda call: cluster.describe_cluster(
                call, fenced=fenced, authorized_operations=authorized_operations
            ),
        )

    @overload
    async def unregister_broker(
        self, broker_id: int, *, dry_run: Literal[False] = False, timeout: float | None = None
    ) -> None: ...
    @overload
    async def unregister_broker(
        self, broker_id: int, *, dry_run: Literal[True], timeout: float | None = None
    ) -> Plan: ...
    async def unregister_broker(
        self, broker_id: int, *, dry_run: bool = False, timeout: float | None = None
    ) -> Any:
        """Remove a broker that is gone from a cluster with KRaft.

        Shut it down and reassign its replicas before: they stay assigned to it.

        Args:
            broker_id: its id.
            dry_run: whether to change nothing, and return a plan that says whether the broker is
                alive and how many replicas it has.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            None; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not alter the cluster.
            BrokerError: the broker is not registered; with ``maybe_done``, this call may have
                removed it. Or the cluster uses ZooKeeper.
            TimeoutError: the controller did not respond in time.
        """
        broker_id = arguments.integer("broker_id", broker_id)
        if flag("dry_run", dry_run):
            return await self._run(
                "checking a broker",
                timeout,
                lambda call: cluster.plan_unregistration(call, broker_id),
            )
        return await self._run(
            "unregistering a broker",
            timeout,
            lambda call: cluster.unregister_broker(call, broker_id),
        )
