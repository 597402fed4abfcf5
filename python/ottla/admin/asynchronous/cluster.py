# Made by tools/async_admin.py from ../blocking/cluster.py: change that file.
"""Calls about the cluster and its brokers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, overload

from ottla.admin import cluster
from ottla.admin.calls import AsynchronousCalls
from ottla.admin.cluster import ClusterDescription, LogDirDescription
from ottla.admin.items import ItemErrors
from ottla.errors import KafkaError


class AsyncClusterCalls(AsynchronousCalls):
    """Describes the cluster and its log directories."""

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
        return await self._run(
            "describing the cluster",
            timeout,
            lambda call: cluster.describe_cluster(
                call, fenced=fenced, authorized_operations=authorized_operations
            ),
        )

    @overload
    async def describe_log_dirs(
        self,
        brokers: Iterable[int] | None = None,
        *,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[int, list[LogDirDescription]]: ...
    @overload
    async def describe_log_dirs(
        self,
        brokers: Iterable[int] | None = None,
        *,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[int, list[LogDirDescription] | KafkaError]: ...
    async def describe_log_dirs(
        self,
        brokers: Iterable[int] | None = None,
        *,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Describe the log directories of brokers: their disks, and the sizes of the replicas.

        Args:
            brokers: the ids of the brokers. Default: all.
            errors: what to do with the error of one broker: ``"raise"`` the first one, or
                ``"return"`` each in place of the directories.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The directories by broker.

        Raises:
            AuthorizationError: the principal may not describe the cluster.
            TimeoutError: a broker did not respond in time, or does not exist.
        """
        return await self._settle(
            "describing log directories",
            timeout,
            errors,
            lambda call: cluster.describe_log_dirs(call, brokers),
        )
