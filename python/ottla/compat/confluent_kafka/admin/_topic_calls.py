"""Calls about topics: create, delete and describe them, and add partitions.

Invariant: a topic that was created is reported as such, whether or not its leaders are known in
time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ottla._core import error_of_code
from ottla.admin import topics
from ottla.admin.destinations import CONTROLLER_TIMEOUT_MS, metadata, to_controller
from ottla.admin.items import Results, error_of, until_final
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.compat.confluent_kafka._model import Node, TopicCollection, TopicPartitionInfo
from ottla.compat.confluent_kafka._topic_partition import uuid_of
from ottla.compat.confluent_kafka.admin import _options
from ottla.compat.confluent_kafka.admin._acl import operations_of
from ottla.compat.confluent_kafka.admin._base import AdminBase, Futures, new_futures
from ottla.compat.confluent_kafka.admin._new_topics import NewPartitions, NewTopic
from ottla.compat.confluent_kafka.admin._nodes import nodes_of
from ottla.compat.confluent_kafka.admin._topic import TopicDescription
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError

_MAX_PARTITIONS = 100_000
_MAX_REPLICAS = 10_000
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
        bodies = [_creatable(each) for each in new_topics]

        async def create(call: Call) -> Results[str, None]:
            results = await _create(call, bodies, validate_only=validate_only)
            created = [name for name, result in results.items() if result is None]
            if not validate_only and patience and created:
                await _wait_for_leaders(call, created, min(patience, _LEADERS_WITHIN))
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
        bodies = {each.topic: _more_partitions(each) for each in new_partitions}

        async def create(call: Call) -> Results[str, None]:
            def build(pending: list[str]) -> Request:
                body = {
                    "topics": [bodies[name] for name in pending],
                    "timeout_ms": CONTROLLER_TIMEOUT_MS,
                    "validate_only": validate_only,
                }
                return Request("CreatePartitions", body)

            return await to_controller(
                call, bodies, build, _results_of("results"), changes=not validate_only
            )

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


def _creatable(topic: object) -> Body:
    """Return the message for a topic, with librdkafka's checks."""
    if not isinstance(topic, NewTopic):
        raise ValueError("expected a list of NewTopic")  # noqa: TRY004 - the peer's class
    if not -1 <= topic.num_partitions <= _MAX_PARTITIONS:
        raise ValueError(
            f"{topic}: num_partitions must be 1 to {_MAX_PARTITIONS}, or -1 for the default"
        )
    if not -1 <= topic.replication_factor <= _MAX_REPLICAS:
        raise ValueError(
            f"{topic}: replication_factor must be 1 to {_MAX_REPLICAS}, or -1 for the default"
        )
    count, assignment = topic.num_partitions, topic.replica_assignment
    if assignment is not None:
        if topic.replication_factor != -1:
            raise ValueError(f"{topic}: replication_factor excludes replica_assignment")
        _check_assignment(assignment, count, count, "one for each of num_partitions")
        count = -1
    return {
        "name": topic.topic,
        "num_partitions": count,
        "replication_factor": topic.replication_factor,
        "assignments": [
            {"partition_index": index, "broker_ids": brokers}
            for index, brokers in enumerate(assignment or ())
        ],
        "configs": [
            {"name": str(name), "value": str(value)} for name, value in (topic.config or {}).items()
        ],
    }


def _more_partitions(partitions: object) -> Body:
    if not isinstance(partitions, NewPartitions):
        raise ValueError("expected a list of NewPartitions")  # noqa: TRY004 - the peer's class
    count, assignment = partitions.new_total_count, partitions.replica_assignment
    if not 1 <= count <= _MAX_PARTITIONS:
        raise ValueError(f"{partitions}: new_total_count must be 1 to {_MAX_PARTITIONS}")
    if assignment is not None:
        _check_assignment(assignment, 1, count, "one for each new partition")
    return {
        "name": partitions.topic,
        "count": count,
        "assignments": None
        if assignment is None
        else [{"broker_ids": brokers} for brokers in assignment],
    }


def _check_assignment(assignment: object, least: int, most: int, expected: str) -> None:
    is_valid = (
        isinstance(assignment, list)
        and least <= len(assignment) <= most
        and all(
            isinstance(brokers, list)
            and brokers
            and all(isinstance(broker, int) for broker in brokers)
            for brokers in assignment
        )
    )
    if not is_valid:
        raise ValueError(f"replica_assignment must be a list of lists of broker ids, {expected}")


def _results_of(field: str) -> Any:
    """Return the function that reads the results by topic from a field of the response."""

    def read(response: Response, _: list[str]) -> Results[str, None]:
        return {
            each["name"]: error_of(each, topic=each["name"], maybe_done=response.is_repeated)
            for each in response.body[field]
        }

    return read


async def _create(call: Call, bodies: list[Body], *, validate_only: bool) -> Results[str, None]:
    names = dict.fromkeys(body["name"] for body in bodies)

    def build(pending: list[str]) -> Request:
        body = {
            # A name that is given twice is sent twice: the controller refuses it.
            "topics": [body for body in bodies if body["name"] in pending],
            "timeout_ms": CONTROLLER_TIMEOUT_MS,
            "validate_only": validate_only,
        }
        return Request("CreateTopics", body)

    return await to_controller(call, names, build, _results_of("topics"), changes=not validate_only)


async def _wait_for_leaders(call: Call, names: list[str], seconds: float) -> None:
    """Wait until all partitions of topics have leaders, or the time is over."""
    until = time.monotonic() + seconds

    def state(topic: Body | None, name: str) -> KafkaError | None:
        if time.monotonic() >= until:
            return None
        if topic is not None and topic["error_code"] == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return None  # The principal may create it, but not look at it.
        partitions = topic["partitions"] if topic else []
        if partitions and all(each["leader_id"] >= 0 for each in partitions):
            return None
        return error_of_code(ErrorCode.LEADER_NOT_AVAILABLE, topic=name)

    async def attempt(pending: list[str]) -> Results[str, None]:
        try:
            found = (await metadata(call, pending))["topics"]
        except KafkaError:
            return {}  # They are created; whether they have leaders is another question.
        topics = {topic["name"]: topic for topic in found}
        return {name: state(topics.get(name), name) for name in pending}

    await until_final(call, names, attempt)


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
