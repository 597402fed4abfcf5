"""Calls about the log directories of brokers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, overload

from ottla._internal import arguments
from ottla._internal.required_arguments import flag
from ottla.admin import log_dirs
from ottla.admin.items import ItemErrors, settled
from ottla.admin.log_dirs import LogDirDescription, Replica
from ottla.admin.operation_runners import BlockingCalls
from ottla.admin.plan import Plan
from ottla.errors import KafkaError


class LogDirCalls(BlockingCalls):
    """Describes log directories, and moves replicas between them."""

    @overload
    def describe_log_dirs(
        self,
        brokers: Iterable[int] | None = None,
        *,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[int, list[LogDirDescription]]: ...
    @overload
    def describe_log_dirs(
        self,
        brokers: Iterable[int] | None = None,
        *,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[int, list[LogDirDescription] | KafkaError]: ...
    def describe_log_dirs(
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
            BrokerError: a broker is down or does not exist.
            TimeoutError: a broker did not respond in time.
        """
        brokers = None if brokers is None else arguments.integers("brokers", brokers)
        return self._run(
            "describing log directories",
            timeout,
            settled(errors, lambda call: log_dirs.describe_log_dirs(call, brokers)),
        )

    @overload
    def alter_replica_log_dirs(
        self,
        paths: Mapping[Replica, str],
        *,
        dry_run: Literal[False] = False,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[Replica, bool]: ...
    @overload
    def alter_replica_log_dirs(
        self,
        paths: Mapping[Replica, str],
        *,
        dry_run: Literal[False] = False,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[Replica, bool | KafkaError]: ...
    @overload
    def alter_replica_log_dirs(
        self,
        paths: Mapping[Replica, str],
        *,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    def alter_replica_log_dirs(
        self,
        paths: Mapping[Replica, str],
        *,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Move replicas to other log directories of their brokers (KIP-113).

        The brokers copy them in the background: ``describe_log_dirs`` shows the copies as future
        replicas. The directory that a replica is in cancels its move.

        Args:
            paths: by ``(topic, partition, broker)``, the path of the directory.
            dry_run: whether to change nothing, and return a plan with the sizes of the replicas.
            errors: what to do with the error of one replica: ``"raise"`` the first one, or
                ``"return"`` each in place of the result.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By replica, True if the broker moves it or it is there; False if the broker has no such
            replica yet, and will create it there. For a dry run the plan.

        Raises:
            AuthorizationError: the principal may not alter the cluster.
            BrokerError: a broker has no such directory, or it is offline; or a broker is down or
                does not exist.
            TimeoutError: a broker did not respond in time.
            UnknownTopicError: a topic or a partition does not exist.
        """
        paths = log_dirs.checked_paths(paths)
        if flag("dry_run", dry_run):
            return self._run(
                "checking log directories",
                timeout,
                lambda call: log_dirs.plan_replica_log_dirs(call, paths),
            )
        return self._run(
            "altering log directories",
            timeout,
            settled(errors, lambda call: log_dirs.alter_replica_log_dirs(call, paths)),
        )
