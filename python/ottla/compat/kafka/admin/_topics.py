"""The admin calls about topics.

Invariant: a topic that was created has leaders when the call returns.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ottla import admin
from ottla.compat.kafka._errors import translating
from ottla.compat.kafka.admin._base import (
    AdminBase,
    error_code,
    error_message,
    raise_first,
    text_of,
    uuid_of,
)
from ottla.compat.kafka.admin._types import NewTopic
from ottla.compat.kafka.errors import IllegalArgumentError, KafkaTimeoutError
from ottla.errors import ErrorCode

__all__ = ["Topics"]

_PAUSE = 0.1
_NO_ID = uuid_of(None)


class Topics(AdminBase):
    """The methods; ``KafkaAdminClient`` has the attributes."""

    def list_topics(self) -> list[str]:
        """Return the names of all topics."""
        with translating():
            return [
                topic.name
                for topic in self._admin.list_topics(internal=True, timeout=self._seconds())
            ]

    def describe_topics(
        self, topics: Iterable[str | uuid.UUID] | None = None
    ) -> list[dict[str, Any]]:
        """Describe topics.

        Args:
            topics: by name or id. Default: all.

        Returns:
            A dict for each topic. One that does not exist has an ``error_code``.
        """
        wanted = self.list_topics() if topics is None else _checked(topics)
        by_id = self._names_of_ids(wanted)
        named = [(each, each if isinstance(each, str) else by_id.get(each)) for each in wanted]
        with translating():
            found = self._admin.describe_topics(
                [name for _, name in named if name is not None],
                authorized_operations=True,
                errors="return",
                timeout=self._seconds(),
            )
        return [
            _unknown(each) if name is None else _described(name, found[name])
            for each, name in named
        ]

    def describe_topic_partitions(
        self,
        topics: Iterable[str],
        response_partition_limit: int = 2_000,
        cursor: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Describe topics, a number of partitions at a time.

        Returns:
            A dict with ``topics``, and ``next_cursor`` for the next call, or None.
        """
        start = ("", 0) if cursor is None else (cursor["topic_name"], cursor["partition_index"])
        result: list[dict[str, Any]] = []
        room = response_partition_limit
        for topic in sorted(self.describe_topics(topics), key=lambda each: str(each["name"])):
            name, partitions = topic["name"], topic["partitions"]
            left = [each for each in partitions if (name, each["partition_index"]) >= start]
            if partitions and not left:
                continue
            if left and room == 0:
                following = {"topic_name": name, "partition_index": left[0]["partition_index"]}
                return {"topics": result, "next_cursor": following}
            result.append({**topic, "partitions": left[:room]})
            if len(left) > room:
                following = {"topic_name": name, "partition_index": left[room]["partition_index"]}
                return {"topics": result, "next_cursor": following}
            room -= len(left)
        return {"topics": result, "next_cursor": None}

    def create_topics(
        self,
        new_topics: Any,
        timeout_ms: float | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
        wait_for_metadata: bool = False,
    ) -> dict[str, Any]:
        """Create topics.

        Args:
            new_topics: names, or ``NewTopic`` objects, or a dict of names and options.
            timeout_ms: milliseconds. Default: ``default_api_timeout_ms``.
            validate_only: whether to let the controller check them only.
            raise_errors: whether to raise the first error.
            wait_for_metadata: has no effect: every topic that was created has leaders.

        Returns:
            A dict with ``topics``.
        """
        if validate_only and wait_for_metadata:
            raise ValueError("validate_only and wait_for_metadata are mutually exclusive")
        wanted = _new_topics(new_topics)
        timeout = self._seconds(timeout_ms)
        results: dict[str, Any] = dict.fromkeys(topic.name for topic in wanted)
        with translating():
            if validate_only:
                self._admin.create_topics(wanted, dry_run=True, timeout=timeout)
            else:
                results |= self._admin.create_topics(wanted, errors="return", timeout=timeout)
        if raise_errors:
            raise_first(results)
        return {
            "topics": [
                _result(topic.name, results[topic.name])
                | {
                    "num_partitions": -1 if topic.partitions is None else topic.partitions,
                    "replication_factor": -1 if topic.replication is None else topic.replication,
                }
                for topic in wanted
            ]
        }

    def wait_for_topics(self, topic_names: Iterable[str], timeout_ms: float = 10_000) -> None:
        """Wait until topics exist and all their partitions have leaders.

        Raises:
            KafkaTimeoutError: they do not in time.
        """
        names = list(topic_names)
        deadline = time.monotonic() + timeout_ms / 1000
        while True:
            pending = [
                topic["name"]
                for topic in self.describe_topics(names)
                if topic["error_code"]
                or not topic["partitions"]
                or any(partition["error_code"] for partition in topic["partitions"])
            ]
            if not pending:
                return
            if time.monotonic() >= deadline:
                raise KafkaTimeoutError(f"Topics not ready after {timeout_ms} ms: {pending}")
            time.sleep(_PAUSE)

    def delete_topics(
        self,
        topics: Iterable[str | uuid.UUID],
        timeout_ms: float | None = None,
        raise_errors: bool = True,
    ) -> dict[str, Any]:
        """Delete topics.

        Args:
            topics: by name or id.
            timeout_ms: milliseconds. Default: ``default_api_timeout_ms``.
            raise_errors: whether to raise the first error.

        Returns:
            A dict with ``topics``.
        """
        wanted = _checked(topics)
        by_id = self._names_of_ids(wanted)
        ids = {each: text_of(each) for each in wanted if isinstance(each, uuid.UUID)}
        with translating():
            results = self._admin.delete_topics(
                [each for each in wanted if isinstance(each, str)],
                ids=ids.values(),
                errors="return",
                timeout=self._seconds(timeout_ms),
            )
        if raise_errors:
            raise_first(results)
        return {
            "topics": [
                _result(each, results[each])
                if isinstance(each, str)
                else _result(by_id.get(each), results[ids[each]], each)
                for each in wanted
            ]
        }

    def _names_of_ids(self, topics: Sequence[str | uuid.UUID]) -> dict[uuid.UUID, str]:
        """Return the names of all topics by id, if one is given by its id."""
        if not any(isinstance(each, uuid.UUID) for each in topics):
            return {}
        with translating():
            listed = self._admin.list_topics(internal=True, timeout=self._seconds())
        return {uuid_of(each.topic_id): each.name for each in listed}


def _checked(topics: Iterable[Any]) -> list[str | uuid.UUID]:
    wanted = list(topics)
    if not all(isinstance(each, str | uuid.UUID) for each in wanted):
        raise IllegalArgumentError("topics are described and deleted by name or uuid.UUID")
    return wanted


def _unknown(topic_id: str | uuid.UUID) -> dict[str, Any]:
    return {
        "error_code": int(ErrorCode.UNKNOWN_TOPIC_ID),
        "name": None,
        "topic_id": topic_id,
        "is_internal": False,
        "partitions": [],
    }


def _result(name: str | None, error: object, topic_id: uuid.UUID = _NO_ID) -> dict[str, Any]:
    return {
        "name": name,
        "topic_id": topic_id,
        "error_code": error_code(error),
        "error_message": error_message(error),
    }


def _described(name: str, found: admin.TopicDescription | Exception) -> dict[str, Any]:
    if isinstance(found, Exception):
        return _result(name, found) | {"is_internal": False, "partitions": []}
    return {
        "error_code": 0,
        "name": found.name,
        "topic_id": uuid_of(found.topic_id),
        "is_internal": found.is_internal,
        "partitions": [_partition(partition) for partition in found.partitions],
        "authorized_operations": found.authorized_operations,
    }


def _partition(found: admin.PartitionDescription) -> dict[str, Any]:
    return {
        "error_code": int(ErrorCode.LEADER_NOT_AVAILABLE) if found.leader is None else 0,
        "partition_index": found.partition,
        "leader_id": -1 if found.leader is None else found.leader,
        "leader_epoch": found.leader_epoch,
        "replica_nodes": found.replicas,
        "isr_nodes": found.isr,
        "offline_replicas": found.offline_replicas,
    }


def _new_topics(new_topics: Any) -> list[admin.NewTopic]:
    if isinstance(new_topics, Mapping):
        listed = [
            NewTopic(
                name,
                options.get("num_partitions", -1),
                options.get("replication_factor", -1),
                options.get("assignments"),
                options.get("configs"),
            )
            for name, options in new_topics.items()
        ]
    else:
        listed = [NewTopic(each) if isinstance(each, str) else each for each in new_topics]
    if not listed or not all(isinstance(each, NewTopic) for each in listed):
        raise ValueError(f"No valid topics found in new_topics: {new_topics}")
    return [_new_topic(each) for each in listed]


def _new_topic(topic: NewTopic) -> admin.NewTopic:
    assignments = topic.replica_assignments
    return admin.NewTopic(
        topic.name,
        None if topic.num_partitions == -1 else topic.num_partitions,
        None if topic.replication_factor == -1 else topic.replication_factor,
        [assignments[partition] for partition in sorted(assignments)] or None,
        {key: str(value) for key, value in topic.topic_configs.items()},
    )
