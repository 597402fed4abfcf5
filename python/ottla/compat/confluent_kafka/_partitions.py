"""Lists of ``TopicPartition`` as arguments, and as what calls return.

Invariant: a call never changes the objects that the application passed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from ottla.compat.confluent_kafka._topic_partition import TopicPartition

Key: TypeAlias = tuple[str, int]


def partitions_of(partitions: Any) -> list[TopicPartition]:
    """Return an argument that must be a list of ``TopicPartition``.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(partitions, list):
        raise TypeError("requires list of TopicPartition")
    for partition in partitions:
        partition_of(partition)
    return partitions


def partition_of(partition: Any) -> TopicPartition:
    """Return an argument that must be a ``TopicPartition``.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(partition, TopicPartition):
        raise TypeError("expected cimpl.TopicPartition")
    return partition


def key_of(partition: TopicPartition) -> Key:
    """Return the topic and number, as ottla names a partition."""
    return partition.topic, partition.partition


def listed(keys: Iterable[Key]) -> list[TopicPartition]:
    """Return partitions without offsets, as callbacks get them."""
    return [TopicPartition(topic, partition) for topic, partition in keys]
