"""The partitions without leader, whose offsets no broker knows.

Invariant: they are found by the metadata, as looking their offsets up would wait for a leader until
the timeout.
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla import Admin
from ottla._core import error_of_code
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError


def no_leader(topic: str, partition: int) -> KafkaError:
    """Return the error of a partition without leader, whose offsets no broker knows."""
    return error_of_code(ErrorCode.LEADER_NOT_AVAILABLE, topic=topic, partition=partition)


def without_leader(
    client: Admin, topic_partitions: Iterable[tuple[str, int]], *, timeout: float | None = None
) -> dict[tuple[str, int], KafkaError]:
    """Return the errors of the partitions that have no leader, so no broker knows their offsets.

    Args:
        client: the client.
        topic_partitions: the partitions; those that do not exist have no error.
        timeout: seconds. Default: ``default.api.timeout.ms``.
    """
    wanted = list(topic_partitions)
    topics = dict.fromkeys(topic for topic, _ in wanted)
    described = client.describe_topics(topics, errors="return", timeout=timeout)
    leaderless = {
        (name, each.partition)
        for name, topic in described.items()
        if not isinstance(topic, KafkaError)
        for each in topic.partitions
        if each.leader is None
    }
    return {
        (topic, partition): no_leader(topic, partition)
        for topic, partition in wanted
        if (topic, partition) in leaderless
    }
