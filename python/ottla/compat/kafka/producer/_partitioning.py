"""The partitioner of a producer, as ottla calls it.

ottla calls it with the bytes of the key and the value; the objects that were passed to ``send`` are
kept for the thread that sends. Invariant: a partitioner's exception reaches ``send``, and nothing
is sent.
"""

from __future__ import annotations

import random
import threading
from typing import Any

import ottla
from ottla.compat.kafka.cluster import ClusterMetadata
from ottla.compat.kafka.partitioner import DefaultPartitioner, Partitioner, StickyPartitioner

__all__ = ["DefaultCall", "PartitionerCall", "partitioner_for"]


def partitioner_for(
    partitioner: Any, client: ottla.Client, cluster: ClusterMetadata
) -> DefaultCall | PartitionerCall | None:
    """Return the function for ottla; None if ottla's own default does the same."""
    if type(partitioner) is StickyPartitioner:
        return None
    if type(partitioner) is DefaultPartitioner:
        return DefaultCall(client)
    return PartitionerCall(partitioner, cluster)


class DefaultCall:
    """By the hash of the key; without a key, any partition that has a leader.

    kafka-python chooses one for each record, ottla's own partitioners one for each batch.
    """

    def __init__(self, client: ottla.Client) -> None:
        self._client = client

    def sends(self, key: Any, value: Any) -> None:
        """Do nothing: only the bytes matter."""

    def __call__(
        self, topic: str, key: bytes | None, value: bytes | None, partitions: int, /
    ) -> int:
        """Return the record's partition."""
        if key is not None:
            return ottla.partition_for_key(key, partitions)
        chosen = int(random.random() * partitions)  # noqa: S311 - no secret
        leader = self._client.leader
        if leader(topic, chosen) is None:
            available = [each for each in range(partitions) if leader(topic, each) is not None]
            if available:
                return random.choice(available)  # noqa: S311 - no secret
        return chosen


class PartitionerCall:
    """A partitioner of the program as a function for ottla."""

    def __init__(self, partitioner: Any, cluster: ClusterMetadata) -> None:
        self._partitioner = partitioner
        self._cluster = cluster
        self._sending = threading.local()

    def sends(self, key: Any, value: Any) -> None:
        """Keep the objects of the record that this thread is about to send."""
        self._sending.key, self._sending.value = key, value

    def __call__(
        self, topic: str, key: bytes | None, value: bytes | None, partitions: int, /
    ) -> int:
        """Return the record's partition."""
        chosen = self._choose(topic, key, value, partitions)
        if chosen is None:
            raise ValueError(f"Partitioner did not assign a partition for topic {topic}!")
        return int(chosen)

    def _choose(self, topic: str, key: bytes | None, value: bytes | None, partitions: int) -> Any:
        partitioner, cluster = self._partitioner, self._cluster
        if isinstance(partitioner, Partitioner):
            sending = self._sending
            return partitioner.partition(topic, sending.key, key, sending.value, value, cluster)
        if hasattr(partitioner, "partition"):
            return partitioner.partition(topic, key, cluster)
        # The signature of kafka-python 2.
        available = sorted(cluster.available_partitions_for_topic(topic) or ())
        return partitioner(key, list(range(partitions)), available)
