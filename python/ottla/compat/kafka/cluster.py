"""The cluster as a client knows it, for partitioners, assignors and programs that look at it.

Invariant: nothing here waits or sends a request; it reads the client's last metadata.
"""

from __future__ import annotations

from collections.abc import Callable

import ottla
from ottla.compat.kafka.structs import BrokerMetadata, TopicPartition

__all__ = ["ClusterMetadata"]


class ClusterMetadata:
    """Topics, partitions and brokers, as last reported by the cluster."""

    def __init__(self, snapshot: Callable[[], ottla.Cluster | None]) -> None:
        self._snapshot = snapshot

    @property
    def cluster_id(self) -> str | None:
        """The cluster's id; None if unknown."""
        snapshot = self._snapshot()
        return None if snapshot is None else snapshot.cluster_id

    def brokers(self) -> list[BrokerMetadata]:
        """Return the brokers."""
        snapshot = self._snapshot()
        brokers = {} if snapshot is None else snapshot.brokers
        return [
            BrokerMetadata(broker.id, broker.host, broker.port, broker.rack)
            for broker in brokers.values()
        ]

    def broker_metadata(self, broker_id: int) -> BrokerMetadata | None:
        """Return a broker, or None."""
        return next((each for each in self.brokers() if each.node_id == broker_id), None)

    def topics(self, exclude_internal_topics: bool = True) -> set[str]:
        """Return the names of the topics."""
        snapshot = self._snapshot()
        topics = {} if snapshot is None else snapshot.topics
        return {
            topic.name
            for topic in topics.values()
            if topic.error is None and not (exclude_internal_topics and topic.internal)
        }

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Return a topic's partitions; None if the topic is not known."""
        partitions = self._partitions(topic)
        return None if partitions is None else set(partitions)

    def available_partitions_for_topic(self, topic: str) -> set[int] | None:
        """Return those of a topic's partitions that have a leader."""
        partitions = self._partitions(topic)
        if partitions is None:
            return None
        return {each.index for each in partitions.values() if each.leader is not None}

    def leader_for_partition(self, partition: TopicPartition) -> int | None:
        """Return the id of a partition's leader; -1 if it has none, None if it is not known."""
        known = (self._partitions(partition.topic) or {}).get(partition.partition)
        if known is None:
            return None
        return -1 if known.leader is None else known.leader

    def partitions_for_broker(self, broker_id: int) -> set[TopicPartition] | None:
        """Return the partitions that a broker leads; None if there are none."""
        snapshot = self._snapshot()
        topics = {} if snapshot is None else snapshot.topics
        led = {
            TopicPartition(topic.name, partition.index)
            for topic in topics.values()
            for partition in topic.partitions.values()
            if partition.leader == broker_id
        }
        return led or None

    def _partitions(self, topic: str) -> dict[int, ottla.Partition] | None:
        snapshot = self._snapshot()
        known = None if snapshot is None else snapshot.topics.get(topic)
        return known.partitions if known is not None and known.partitions else None
