# Made by tools/twins.py from ../blocking/quorum.py: change that file.
"""Calls about the KRaft quorum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, overload

from ottla._internal import arguments
from ottla._internal.required_arguments import flag
from ottla.admin import quorum
from ottla.admin.operation_runners import AsynchronousCalls
from ottla.admin.plan import Plan
from ottla.admin.quorum import QuorumDescription, RaftVoterEndpoint


class AsyncQuorumCalls(AsynchronousCalls):
    """Describes the KRaft quorum, and changes its voters."""

    async def describe_metadata_quorum(self, *, timeout: float | None = None) -> QuorumDescription:
        """Describe the KRaft quorum: its leader, voters and observers (KIP-595).

        Args:
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The quorum.

        Raises:
            AuthorizationError: the principal may not describe the cluster.
            BrokerError: the brokers do not support it (before Kafka 3.3), or use ZooKeeper.
            TimeoutError: the active controller did not respond in time.
        """
        return await self._run(
            "describing the quorum", timeout, lambda call: quorum.describe_metadata_quorum(call)
        )

    @overload
    async def add_raft_voter(
        self,
        voter_id: int,
        directory_id: str,
        endpoints: Iterable[RaftVoterEndpoint],
        *,
        cluster_id: str | None = None,
        dry_run: Literal[False] = False,
        timeout: float | None = None,
    ) -> None: ...
    @overload
    async def add_raft_voter(
        self,
        voter_id: int,
        directory_id: str,
        endpoints: Iterable[RaftVoterEndpoint],
        *,
        cluster_id: str | None = None,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    async def add_raft_voter(
        self,
        voter_id: int,
        directory_id: str,
        endpoints: Iterable[RaftVoterEndpoint],
        *,
        cluster_id: str | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> Any:
        """Add a controller to the voters of a dynamic quorum (KIP-853).

        Args:
            voter_id: its ``node.id``.
            directory_id: the id of its log directory, as ``describe_metadata_quorum`` shows it for
                an observer.
            endpoints: its addresses, one for each controller listener.
            cluster_id: refuse the change if the cluster has another id. Default: not checked.
            dry_run: whether to change nothing, and return a plan with the voters before and after.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            None; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not alter the cluster.
            BrokerError: it is a voter; with ``maybe_done``, this call may have added it. Or the
                quorum is static (``kraft.version`` 0), or the brokers do not support it (before
                Kafka 3.9).
            ConfigError: the directory id is malformed.
            TimeoutError: the controller did not respond in time.
        """
        directory_id = arguments.text("directory_id", directory_id)
        if cluster_id is not None:
            cluster_id = arguments.text("cluster_id", cluster_id)
        voter_id = arguments.integer("voter_id", voter_id)
        endpoints = quorum.checked_endpoints(endpoints)
        if flag("dry_run", dry_run):
            return await self._run(
                "checking voters",
                timeout,
                lambda call: quorum.plan_voter(call, voter_id, directory_id, added=True),
            )
        return await self._run(
            "adding a voter",
            timeout,
            lambda call: quorum.add_raft_voter(
                call, voter_id, directory_id, endpoints, cluster_id=cluster_id
            ),
        )

    @overload
    async def remove_raft_voter(
        self,
        voter_id: int,
        directory_id: str,
        *,
        cluster_id: str | None = None,
        dry_run: Literal[False] = False,
        timeout: float | None = None,
    ) -> None: ...
    @overload
    async def remove_raft_voter(
        self,
        voter_id: int,
        directory_id: str,
        *,
        cluster_id: str | None = None,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    async def remove_raft_voter(
        self,
        voter_id: int,
        directory_id: str,
        *,
        cluster_id: str | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> Any:
        """Remove a controller from the voters of a dynamic quorum (KIP-853).

        Args:
            voter_id: its ``node.id``.
            directory_id: the id of its log directory, as ``describe_metadata_quorum`` shows it.
            cluster_id: refuse the change if the cluster has another id. Default: not checked.
            dry_run: whether to change nothing, and return a plan with the voters before and after.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            None; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not alter the cluster.
            BrokerError: it is not a voter; with ``maybe_done``, this call may have removed it. Or
                the quorum is static (``kraft.version`` 0), or the brokers do not support it (before
                Kafka 3.9).
            ConfigError: the directory id is malformed.
            TimeoutError: the controller did not respond in time.
        """
        directory_id = arguments.text("directory_id", directory_id)
        if cluster_id is not None:
            cluster_id = arguments.text("cluster_id", cluster_id)
        voter_id = arguments.integer("voter_id", voter_id)
        if flag("dry_run", dry_run):
            return await self._run(
                "checking voters",
                timeout,
                lambda call: quorum.plan_voter(call, voter_id, directory_id, added=False),
            )
        return await self._run(
            "removing a voter",
            timeout,
            lambda call: quorum.remove_raft_voter(
                call, voter_id, directory_id, cluster_id=cluster_id
            ),
        )
