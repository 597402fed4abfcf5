# Made by tools/twins.py from ../blocking/topics.py: change that file.
"""Calls about topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, overload

from ottla._internal import arguments
from ottla._internal.required_arguments import flag
from ottla.admin import topics
from ottla.admin.items import ItemErrors, settled
from ottla.admin.operation_runners import AsynchronousCalls
from ottla.admin.plan import Plan
from ottla.admin.tables import Table
from ottla.admin.topics import NewTopic, TopicDescription, TopicListing
from ottla.errors import KafkaError


class AsyncTopicCalls(AsynchronousCalls):
    """Lists, describes, creates and deletes topics."""

    async def list_topics(
        self, *, internal: bool = False, timeout: float | None = None
    ) -> Table[TopicListing]:
        """List the topics that the principal may describe.

        Args:
            internal: whether to list Kafka's own topics too.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The topics, in the order of their names.

        Raises:
            TimeoutError: no broker responded in time.
        """
        internal = flag("internal", internal)
        return await self._run(
            "listing topics", timeout, lambda call: topics.list_topics(call, internal=internal)
        )

    @overload
    async def describe_topics(
        self,
        names: Iterable[str],
        *,
        authorized_operations: bool = False,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[str, TopicDescription]: ...
    @overload
    async def describe_topics(
        self,
        names: Iterable[str],
        *,
        authorized_operations: bool = False,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[str, TopicDescription | KafkaError]: ...
    async def describe_topics(
        self,
        names: Iterable[str],
        *,
        authorized_operations: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Describe topics.

        Args:
            names: their names.
            authorized_operations: whether to ask what the principal may do with each (KIP-430).
            errors: what to do with the error of one topic: ``"raise"`` the first one, or
                ``"return"`` each in place of the description.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The descriptions by name.

        Raises:
            AuthorizationError: the principal may not describe a topic.
            TimeoutError: no broker responded in time.
            UnknownTopicError: a topic does not exist.
        """
        authorized_operations = flag("authorized_operations", authorized_operations)
        names = arguments.names("names", names)
        return await self._run(
            "describing topics",
            timeout,
            settled(
                errors,
                lambda call: topics.describe_topics(
                    call, names, authorized_operations=authorized_operations
                ),
            ),
        )

    @overload
    async def create_topics(
        self,
        new_topics: Iterable[NewTopic],
        *,
        dry_run: Literal[False] = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> dict[str, KafkaError | None]: ...
    @overload
    async def create_topics(
        self,
        new_topics: Iterable[NewTopic],
        *,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    async def create_topics(
        self,
        new_topics: Iterable[NewTopic],
        *,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Create topics, and wait until their partitions have leaders.

        Args:
            new_topics: the topics.
            dry_run: whether to let the controller check them only, and return a plan.
            errors: what to do with the error of one topic: ``"raise"`` the first one, or
                ``"return"`` each.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By name, None for success or the error; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not create a topic.
            BrokerError: the controller's policy refuses a topic, or an assignment is invalid.
            ConfigError: a number of partitions or replicas, or a configuration, is invalid.
            TimeoutError: a topic was not created, or has no leaders, in time.
            TopicExistsError: a topic exists; with ``maybe_done``, this call may have created it.
        """
        new_topics = arguments.collection("new_topics", new_topics)
        if flag("dry_run", dry_run):
            return await self._run(
                "checking topics", timeout, lambda call: topics.plan_topics(call, new_topics)
            )
        return await self._run(
            "creating topics",
            timeout,
            settled(errors, lambda call: topics.create_topics(call, new_topics)),
        )

    @overload
    async def create_partitions(
        self,
        counts: Mapping[str, int],
        *,
        assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
        dry_run: Literal[False] = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> dict[str, KafkaError | None]: ...
    @overload
    async def create_partitions(
        self,
        counts: Mapping[str, int],
        *,
        assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    async def create_partitions(
        self,
        counts: Mapping[str, int],
        *,
        assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Add partitions to topics. Keys are assigned to other partitions then.

        Args:
            counts: the new number of partitions by topic.
            assignments: the brokers of each new partition by topic, the preferred leader first.
                Default: the controller chooses, as for topics that are not in it.
            dry_run: whether to let the controller check them only, and return a plan.
            errors: what to do with the error of one topic: ``"raise"`` the first one, or
                ``"return"`` each.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By name, None for success or the error; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not alter a topic.
            BrokerError: a number is not larger than the topic has, or the assignments do not fit;
                with ``maybe_done``, this call may have added the partitions.
            ConfigError: ``assignments`` has a topic that ``counts`` does not have.
            TimeoutError: the controller did not respond in time.
            UnknownTopicError: a topic does not exist.
        """
        counts = arguments.counts("counts", counts, '{"topic": 6}')
        replicas = topics.new_replicas(assignments, counts)
        if flag("dry_run", dry_run):
            return await self._run(
                "checking partitions",
                timeout,
                lambda call: topics.plan_partitions(call, counts, replicas),
            )
        return await self._run(
            "adding partitions",
            timeout,
            settled(errors, lambda call: topics.create_partitions(call, counts, replicas)),
        )

    @overload
    async def delete_topics(
        self,
        names: Iterable[str] = (),
        *,
        ids: Iterable[str] = (),
        dry_run: Literal[False] = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> dict[str, KafkaError | None]: ...
    @overload
    async def delete_topics(
        self,
        names: Iterable[str] = (),
        *,
        ids: Iterable[str] = (),
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    async def delete_topics(
        self,
        names: Iterable[str] = (),
        *,
        ids: Iterable[str] = (),
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Delete topics with all their records.

        Args:
            names: topics by name.
            ids: topics by id (KIP-516): one that was created again has another id.
            dry_run: whether to delete nothing, and return a plan.
            errors: what to do with the error of one topic: ``"raise"`` the first one, or
                ``"return"`` each.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By name or id, None for success or the error; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not delete a topic.
            BrokerError: the cluster does not allow it (``delete.topic.enable``), or does not
                support ids (before Kafka 2.8).
            TimeoutError: the controller did not respond in time.
            UnknownTopicError: a topic does not exist; with ``maybe_done``, this call may have
                deleted it.
        """
        names = arguments.names("names", names)
        ids = arguments.names("ids", ids)
        if flag("dry_run", dry_run):
            return await self._run(
                "checking topics", timeout, lambda call: topics.plan_deletion(call, names, ids)
            )
        return await self._run(
            "deleting topics",
            timeout,
            settled(errors, lambda call: topics.delete_topics(call, names, ids)),
        )
