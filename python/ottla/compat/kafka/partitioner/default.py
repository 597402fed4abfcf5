"""The default partitioner: murmur2 of the key, or any partition.

The producer follows the same rule without calling it. It is here for programs that call it or
derive from it.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from ottla.compat.kafka.partitioner.abc import Partitioner

if TYPE_CHECKING:
    from ottla.compat.kafka.cluster import ClusterMetadata

__all__ = ["DefaultPartitioner", "murmur2"]

_MASK = 0xFFFFFFFF
_MULTIPLIER = 0x5BD1E995


def murmur2(data: bytes | bytearray | memoryview) -> int:
    """Return the 32-bit MurmurHash2 that the Java client uses for keys."""
    data = bytes(data)
    value = (0x9747B28C ^ len(data)) & _MASK
    whole = len(data) - len(data) % 4
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        value = value * _MULTIPLIER & _MASK ^ word
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    value = (value ^ value >> 13) * _MULTIPLIER & _MASK
    return value ^ value >> 15


def known_partitions(cluster: ClusterMetadata, topic: str) -> tuple[list[int], list[int]]:
    """Return a topic's partitions in order, and those of them that have a leader."""
    if topic not in cluster.topics():
        raise ValueError(f"Topic {topic} not found in ClusterMetadata")
    every = sorted(cluster.partitions_for_topic(topic) or ())
    return every, sorted(cluster.available_partitions_for_topic(topic) or ())


class DefaultPartitioner(Partitioner):
    """By the hash of the key; without a key, any partition that has a leader."""

    def partition(
        self,
        topic: str,
        key: Any,
        serialized_key: bytes | None,
        value: Any,
        serialized_value: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        """Return the record's partition."""
        every, available = known_partitions(cluster, topic)
        return self._choose(serialized_key, every, available)

    def __call__(self, key: bytes | None, all_partitions: list[int], available: list[int]) -> int:
        """Return the record's partition; the signature of kafka-python 2."""
        return self._choose(key, all_partitions, available)

    @staticmethod
    def _choose(key: bytes | None, every: list[int], available: list[int]) -> int:
        if key is None:
            return random.choice(available or every)  # noqa: S311 - no secret
        return every[(murmur2(key) & 0x7FFFFFFF) % len(every)]
