"""The sticky partitioner (KIP-480): one partition until its batch is full.

The producer does not call it: ottla's default partitioner does the same. It is here for programs
that call it or derive from it.
"""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING, Any

from ottla.compat.kafka.partitioner.default import DefaultPartitioner, known_partitions

if TYPE_CHECKING:
    from ottla.compat.kafka.cluster import ClusterMetadata

__all__ = ["StickyPartitioner"]


class StickyPartitioner(DefaultPartitioner):
    """By the hash of the key; without a key, the same partition as the record before."""

    def __init__(self) -> None:
        self._sticky: dict[str, int] = {}
        self._lock = threading.Lock()

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
        if serialized_key is not None:
            return self._choose(serialized_key, every, available)
        with self._lock:
            current = self._sticky.get(topic)
            if current is None or current not in (available or every):
                current = self._sticky[topic] = _any(available or every)
            return current

    def on_new_batch(self, topic: str, cluster: ClusterMetadata, prev_partition: int) -> None:
        """Leave a partition, if records without a key still go there."""
        with self._lock:
            if self._sticky.get(topic) == prev_partition:
                self._pick_sticky_locked(topic, cluster, avoid=prev_partition)

    def _pick_sticky_locked(
        self, topic: str, cluster: ClusterMetadata, avoid: int | None = None
    ) -> int | None:
        """Choose another partition for a topic; None if the topic is not known."""
        if not cluster.partitions_for_topic(topic):
            return None
        every, available = known_partitions(cluster, topic)
        # Without leaders no choice is better than another.
        others = [each for each in available if each != avoid]
        chosen = self._sticky[topic] = _any(others or available or every)
        return chosen


def _any(partitions: list[int]) -> int:
    return random.choice(partitions)  # noqa: S311 - no secret
