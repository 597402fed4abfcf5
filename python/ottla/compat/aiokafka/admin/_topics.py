"""The calls of ``AIOKafkaAdminClient`` about topics, partitions and their records.

Invariant: errors of single topics are in the response where aiokafka has them there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from typing import Any

from ottla import admin as ottla_admin
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._error_mapping import translated
from ottla.compat.aiokafka.admin import _responses as responses
from ottla.compat.aiokafka.admin._calls import AdminCalls
from ottla.compat.aiokafka.admin.new_partitions import NewPartitions
from ottla.compat.aiokafka.admin.new_topic import NewTopic
from ottla.compat.aiokafka.admin.records_to_delete import RecordsToDelete
from ottla.compat.aiokafka.structs import TopicPartition

__all__ = ["TopicCalls"]

_NO_LEADER = -1


class TopicCalls(AdminCalls):
    """The base of ``AIOKafkaAdminClient`` with its calls about topics."""

    async def create_topics(
        self,
        new_topics: Iterable[NewTopic],
        timeout_ms: int | None = None,
        validate_only: bool = False,
    ) -> responses.TopicsResponse:
        """Create topics; errors are in ``topic_errors`` of the response.

        Args:
            new_topics: the topics.
            timeout_ms: milliseconds to wait. Default: ``request_timeout_ms``.
            validate_only: whether to check only whether they could be created.
        """
        topics = [
            ottla_admin.NewTopic(
                item.name,
                None if item.num_partitions == -1 else item.num_partitions,
                None if item.replication_factor == -1 else item.replication_factor,
                [item.replica_assignments[number] for number in sorted(item.replica_assignments)]
                or None,
                item.topic_configs,
            )
            for item in new_topics
        ]
        engine, timeout = self._started(), self._seconds(timeout_ms)
        if validate_only:
            return await self._planned(
                [item.name for item in topics],
                engine.create_topics(topics, dry_run=True, timeout=timeout),
            )
        return responses.topics_response(
            await translated(engine.create_topics(topics, errors="return", timeout=timeout))
        )

    async def delete_topics(
        self, topics: Iterable[str], timeout_ms: int | None = None
    ) -> responses.DeleteTopicsResponse:
        """Delete topics; errors are in ``topic_error_codes`` of the response."""
        results = await translated(
            self._started().delete_topics(
                list(topics), errors="return", timeout=self._seconds(timeout_ms)
            )
        )
        return responses.DeleteTopicsResponse(
            [(topic, responses.error_code(error)) for topic, error in results.items()]
        )

    async def list_topics(self) -> list[str]:
        """Return the names of all topics."""
        listed = await translated(self._started().list_topics(internal=True))
        return [item.name for item in listed]

    async def describe_topics(self, topics: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Return topics with their partitions. Default: all topics."""
        names = await self.list_topics() if topics is None else list(topics)
        found = await translated(self._started().describe_topics(names, errors="return"))
        return [_topic(name, item) for name, item in found.items()]

    async def create_partitions(
        self,
        topic_partitions: Mapping[str, NewPartitions],
        timeout_ms: int | None = None,
        validate_only: bool = False,
    ) -> responses.TopicsResponse:
        """Add partitions to topics.

        Args:
            topic_partitions: the new numbers of partitions by topic, and the brokers of each new
                one. Default of these: the controller chooses them.
            timeout_ms: milliseconds to wait. Default: ``request_timeout_ms``.
            validate_only: whether to check only whether they could be created.

        Raises:
            KafkaError: a topic was not changed.
        """
        counts = {topic: item.total_count for topic, item in topic_partitions.items()}
        brokers = {
            topic: item.new_assignments
            for topic, item in topic_partitions.items()
            if item.new_assignments is not None
        }
        engine, timeout = self._started(), self._seconds(timeout_ms)
        if validate_only:
            plan = engine.create_partitions(
                counts, assignments=brokers, dry_run=True, timeout=timeout
            )
            return await self._planned(list(counts), plan)
        return responses.topics_response(
            await translated(engine.create_partitions(counts, assignments=brokers, timeout=timeout))
        )

    async def delete_records(
        self,
        records_to_delete: Mapping[TopicPartition, RecordsToDelete],
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, int]:
        """Delete the records before an offset, and return the first offsets that are left."""
        offsets: dict[tuple[str, int], int] = {
            partition: item.before_offset for partition, item in records_to_delete.items()
        }
        left = await translated(
            self._started().delete_records(offsets, timeout=self._seconds(timeout_ms))
        )
        return {TopicPartition(*partition): offset for partition, offset in left.items()}

    async def _planned(self, names: list[str], plan: Awaitable[object]) -> responses.TopicsResponse:
        """Return the response of a call that only checks."""
        try:
            await plan
        except ottla_errors.KafkaError as error:
            return responses.topics_response(dict.fromkeys(names, error))
        return responses.topics_response(dict.fromkeys(names))


def _topic(
    name: str, item: ottla_admin.TopicDescription | ottla_errors.KafkaError
) -> dict[str, Any]:
    if isinstance(item, ottla_errors.KafkaError):
        code = responses.error_code(item)
        return {"error_code": code, "topic": name, "is_internal": False, "partitions": []}
    return {
        "error_code": 0,
        "topic": name,
        "is_internal": item.is_internal,
        "partitions": [
            {
                "error_code": 0,
                "partition": partition.partition,
                "leader": _NO_LEADER if partition.leader is None else partition.leader,
                "replicas": partition.replicas,
                "isr": partition.isr,
                "offline_replicas": partition.offline_replicas,
            }
            for partition in item.partitions
        ],
    }
