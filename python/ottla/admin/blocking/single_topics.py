"""Calls about one topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

from ottla import _core
from ottla._internal import arguments
from ottla._internal.required_arguments import flag
from ottla.admin import topics
from ottla.admin.items import settled
from ottla.admin.operation_runners import BlockingCalls
from ottla.admin.plan import Plan
from ottla.admin.topics import NewTopic


class SingleTopicCalls(BlockingCalls, _core.Admin):
    """Creates and deletes one topic."""

    @overload
    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication: int | None = None,
        configs: Mapping[str, str] | None = None,
        *,
        dry_run: Literal[False] = False,
        timeout: float | None = None,
    ) -> None: ...
    @overload
    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication: int | None = None,
        configs: Mapping[str, str] | None = None,
        *,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication: int | None = None,
        configs: Mapping[str, str] | None = None,
        *,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> Any:
        """Create a topic, and wait until all its partitions have leaders.

        Args:
            name: the topic's name.
            partitions: the number of partitions. Default: the cluster's ``num.partitions``.
            replication: the number of replicas. Default: the cluster's
                ``default.replication.factor``.
            configs: the topic's configuration, by Kafka's names, such as ``retention.ms``.
            dry_run: whether to let the controller check it only, and return a plan.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            None; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not create the topic.
            ConfigError: the number of partitions or replicas, or the configuration, is invalid.
            TimeoutError: the topic was not created, or has no leaders, in time.
            TopicExistsError: the topic exists; with ``maybe_done``, this call may have created it.
        """
        name = arguments.text("name", name)
        topic = NewTopic(name, partitions, replication, configs={} if configs is None else configs)
        if flag("dry_run", dry_run):
            return self._run(
                "checking a topic", timeout, lambda call: topics.plan_topics(call, [topic])
            )
        created = self._run(
            "creating a topic",
            timeout,
            settled("raise", lambda call: topics.create_topics(call, [topic])),
        )
        return created[name]

    @overload
    def delete_topic(
        self, name: str, *, dry_run: Literal[False] = False, timeout: float | None = None
    ) -> None: ...
    @overload
    def delete_topic(
        self, name: str, *, dry_run: Literal[True], timeout: float | None = None
    ) -> Plan: ...
    def delete_topic(
        self, name: str, *, dry_run: bool = False, timeout: float | None = None
    ) -> Any:
        """Delete a topic.

        Args:
            name: the topic's name.
            dry_run: whether to delete nothing, and return a plan.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            None; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not delete the topic.
            TimeoutError: the controller did not respond in time.
            UnknownTopicError: the topic does not exist; with ``maybe_done``, this call may have
                deleted it.
        """
        name = arguments.text("name", name)
        if flag("dry_run", dry_run):
            return self._run(
                "checking a topic", timeout, lambda call: topics.plan_deletion(call, [name], [])
            )
        deleted = self._run(
            "deleting a topic",
            timeout,
            settled("raise", lambda call: topics.delete_topics(call, [name], [])),
        )
        return deleted[name]
