"""Calls about topics: create, delete and describe them, and add partitions.

Invariant: a topic that was created is reported as such, whether or not its leaders are known in
time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ottla.admin import topics
from ottla.admin.items import Results
from ottla.admin.operation_call import Call
from ottla.compat.confluent_kafka._model import Node, TopicCollection, TopicPartitionInfo
from ottla.compat.confluent_kafka._topic_partition import uuid_of
from ottla.compat.confluent_kafka.admin import _options
from ottla.compat.confluent_kafka.admin._acl import operations_of
from ottla.compat.confluent_kafka.admin._base import AdminBase, Futures, new_futures
from ottla.compat.confluent_kafka.admin._new_topics import NewPartitions, NewTopic
from ottla.compat.confluent_kafka.admin._nodes import nodes_of
from ottla.compat.confluent_kafka.admin._topic import TopicDescription
from ottla.compat.confluent_kafka.admin._topic_requests import (
    creatable,
    create_partitions,
    create_topics,
    more_partitions,
    wait_for_leaders,
)
from ottla.errors import KafkaError

# Seconds to wait for the leaders of new topics, so that they can be used at once.
_LEADERS_WITHIN = 5.0


class TopicCalls(AdminBase):
    """Creates, deletes and describes topics."""

    def create_topics(self, new_topics: list[NewTopic], **kwargs: Any) -> Futures[str]:
        """Create topics.

        Args:
            new_topics: the topics.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.
                ``operation_timeout``: seconds to wait for the new topics' leaders, 0 for not at
                all. ``validate_only``: whether only to check them.

        Returns:
            By name, a future of None.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        futures = new_futures([each.topic for each in new_topics])
        _options.non_empty_list("NewTopic", new_topics)
        _options.check_known(kwargs, "validate_only", "request_timeout", "operation_timeout")
        validate_only = _options.flag(kwargs, "validate_only")
        self._check_open()
        timeout = self._request_timeout(kwargs)
        patience = _options.seconds(kwargs, "operation_timeout", _LEADERS_WITHIN)
        bodies = [creatable(each) for each in new_topics]

        async def create(call: Call) -> Results[str, None]:
            results = await create_topics(call, bodies, validate_only=validate_only)
            created = [name for name, result in results.items() if result is None]
            if not validate_only and patience and created:
                await wait_for_leaders(call, created, min(patience, _LEADERS_WITHIN))
            return results

        return self._start_items("creating topics", timeout, futures, create, "change")

    def delete_topics(self, topics: list[str], **kwargs: Any) -> Futures[str]:
        """Delete topics with all their records.

        Args:
            topics: their names.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.
                ``operation_timeout``: seconds that the brokers may take.

        Returns:
            By name, a future of None.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        return self._delete_topics(topics, kwargs)

    def _delete_topics(self, names: list[str], options: Mapping[str, Any]) -> Futures[str]:
        futures = new_futures(names)
        _options.check_list("topics", names)
        _options.non_empty_list("topic names", names)
        _options.check_known(options, "request_timeout", "operation_timeout")
        self._check_open()
        timeout = self._request_timeout(options)
        _options.seconds(options, "operation_timeout", timeout)
        if not all(isinstance(name, str) for name in names):
            raise ValueError("topics must be a list of str")

        async def delete(call: Call) -> Results[str, None]:
            return await topics.delete_topics(call, futures, ())

        return self._start_items("deleting topics", timeout, futures, delete, "change")

    def create_partitions(self, new_partitions: list[NewPartitions], **kwargs: Any) -> Futures[str]:
        """Add partitions to topics.

        Args:
            new_partitions: the topics, with their new numbers of partitions.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.
                ``operation_timeout``: seconds that the brokers may take. ``validate_only``: whether
                only to check them.

        Returns:
            By name, a future of None.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        futures = new_futures([each.topic for each in new_partitions])
        _options.non_empty_list("NewPartitions", new_partitions)
        _options.check_known(kwargs, "validate_only", "request_timeout", "operation_timeout")
        validate_only = _options.flag(kwargs, "validate_only")
        self._check_open()
        timeout = self._request_timeout(kwargs)
        _options.seconds(kwargs, "operation_timeout", timeout)
        bodies = [more_partitions(each) for each in new_partitions]

        async def create(call: Call) -> Results[str, None]:
            return await create_partitions(call, bodies, validate_only=validate_only)

        return self._start_items("adding partitions", timeout, futures, create, "change")

    def describe_topics(self, topics: TopicCollection, **kwargs: Any) -> Futures[str]:
        """Describe topics.

        Args:
            topics: their names.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.
                ``include_authorized_operations``: whether to ask what the principal may do.

        Returns:
            By name, a future of a ``TopicDescription``.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        names = _names_of(topics)
        futures = new_futures(names)
        _options.check_known(kwargs, "request_timeout", "include_authorized_operations")
        authorized = _options.flag(kwargs, "include_authorized_operations")
        self._check_open()
        timeout = self._request_timeout(kwargs)

        async def describe(call: Call) -> Results[str, TopicDescription]:
            return await _describe(call, names, authorized_operations=authorized)

        if not names:
            return futures
        return self._start_items("describing topics", timeout, futures, describe)


def _names_of(collection: object) -> list[str]:
    if not isinstance(collection, TopicCollection):
        raise TypeError(f"expected a TopicCollection, not {type(collection).__name__}")
    names = collection.topic_names
    _options.check_list("topic_names", names)
    if not all(isinstance(name, str) for name in names):
        raise TypeError("topic_names must be a list of str")
    if "" in names:
        raise ValueError("a topic name must not be empty")
    return names


async def _describe(
    call: Call, names: list[str], *, authorized_operations: bool
) -> Results[str, TopicDescription]:
    described = await topics.describe_topics(
        call, dict.fromkeys(names), authorized_operations=authorized_operations
    )
    nodes = await nodes_of(call)

    def node(broker: int) -> Node:
        return nodes[broker] if broker in nodes else Node(broker, "", -1)

    def made(topic: topics.TopicDescription) -> TopicDescription:
        partitions = [
            TopicPartitionInfo(
                each.partition,
                None if each.leader is None else node(each.leader),  # type: ignore[arg-type]
                [node(broker) for broker in each.replicas],
                [node(broker) for broker in each.isr],
            )
            for each in topic.partitions
        ]
        return TopicDescription(
            topic.name,
            uuid_of(topic.topic_id),
            topic.is_internal,
            partitions,
            operations_of(topic.authorized_operations),
        )

    return {
        name: each if isinstance(each, KafkaError) else made(each)
        for name, each in described.items()
    }
