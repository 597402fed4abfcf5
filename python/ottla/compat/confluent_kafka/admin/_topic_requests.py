"""The requests that create topics and partitions, with librdkafka's checks of their arguments.

Invariant: what the checks refuse is refused before anything is sent.
"""

from __future__ import annotations

import time
from typing import Any

from ottla._core import error_of_code
from ottla.admin.destinations import CONTROLLER_TIMEOUT_MS, metadata, to_controller
from ottla.admin.items import Results, error_of, until_final
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.compat.confluent_kafka.admin._new_topics import NewPartitions, NewTopic
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError

_MAX_PARTITIONS = 100_000
_MAX_REPLICAS = 10_000


def creatable(topic: object) -> Body:
    """Return the message for a ``NewTopic``.

    Raises:
        ValueError: it is none, or a number or an assignment is invalid.
    """
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


def more_partitions(partitions: object) -> Body:
    """Return the message for ``NewPartitions``.

    Raises:
        ValueError: it is none, or a number or an assignment is invalid.
    """
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
            each["name"]: error_of(
                each, api="CreateTopics", topic=each["name"], maybe_done=response.is_repeated
            )
            for each in response.body[field]
        }

    return read


async def create_topics(
    call: Call, bodies: list[Body], *, validate_only: bool
) -> Results[str, None]:
    """Create topics from their messages."""
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


async def create_partitions(
    call: Call, bodies: list[Body], *, validate_only: bool
) -> Results[str, None]:
    """Add partitions to topics, from their messages."""
    names = dict.fromkeys(body["name"] for body in bodies)

    def build(pending: list[str]) -> Request:
        body = {
            "topics": [body for body in bodies if body["name"] in pending],
            "timeout_ms": CONTROLLER_TIMEOUT_MS,
            "validate_only": validate_only,
        }
        return Request("CreatePartitions", body)

    return await to_controller(
        call, names, build, _results_of("results"), changes=not validate_only
    )


async def wait_for_leaders(call: Call, names: list[str], seconds: float) -> None:
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
