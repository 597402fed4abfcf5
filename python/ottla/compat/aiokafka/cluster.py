"""``ClusterMetadata``: a client's last snapshot of the cluster's metadata.

Invariant: no method waits or sends a request; ``AIOKafkaClient`` replaces the snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ottla import Cluster
from ottla.compat.aiokafka.structs import BrokerMetadata, PartitionMetadata, TopicPartition

__all__ = ["ClusterMetadata"]

_NO_LEADER = -1


class ClusterMetadata:
    """Brokers, topics and partitions, as far as they are known."""

    def __init__(self, **configs: Any) -> None:
        """Begin without metadata.

        Args:
            configs: accepted as by aiokafka, without effect.
        """
        del configs
        self._brokers: dict[int, BrokerMetadata] = {}
        self._partitions: dict[str, dict[int, PartitionMetadata]] = {}
        self._listeners: set[Callable[[ClusterMetadata], object]] = set()
        self.internal_topics: set[str] = set()
        self.unauthorized_topics: set[str] = set()

    def brokers(self) -> set[BrokerMetadata]:
        """Return all brokers."""
        return set(self._brokers.values())

    def broker_metadata(self, broker_id: int) -> BrokerMetadata | None:
        """Return a broker; None if it is unknown."""
        return self._brokers.get(broker_id)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Return the numbers of a topic's partitions; None if it is unknown."""
        partitions = self._partitions.get(topic)
        return None if partitions is None else set(partitions)

    def available_partitions_for_topic(self, topic: str) -> set[int] | None:
        """Return the partitions that have a leader; None if the topic is unknown."""
        partitions = self._partitions.get(topic)
        if partitions is None:
            return None
        return {number for number, item in partitions.items() if item.leader != _NO_LEADER}

    def leader_for_partition(self, partition: TopicPartition) -> int | None:
        """Return the id of a partition's leader; -1 if there is none, None if it is unknown."""
        item = self._partitions.get(partition.topic, {}).get(partition.partition)
        return None if item is None else item.leader

    def partitions_for_broker(self, broker_id: int) -> set[TopicPartition] | None:
        """Return the partitions that a broker leads; None if there are none."""
        led = {
            TopicPartition(topic, number)
            for topic, partitions in self._partitions.items()
            for number, item in partitions.items()
            if item.leader == broker_id
        }
        return led or None

    def topics(self, exclude_internal_topics: bool = True) -> set[str]:
        """Return the known topics.

        Args:
            exclude_internal_topics: whether to leave out Kafka's own topics.
        """
        return set(self._partitions) - (self.internal_topics if exclude_internal_topics else set())

    def add_listener(self, listener: Callable[[ClusterMetadata], object]) -> None:
        """Call a function with each new snapshot."""
        self._listeners.add(listener)

    def remove_listener(self, listener: Callable[[ClusterMetadata], object]) -> None:
        """Stop calling a function."""
        self._listeners.discard(listener)

    def replace(self, snapshot: Cluster, topics: Iterable[str] | None = None) -> None:
        """Take over a snapshot.

        Args:
            snapshot: the snapshot.
            topics: the topics that it was requested for; others stay as they are. Default: it has
                all topics.
        """
        self._brokers = {
            broker.id: BrokerMetadata(broker.id, broker.host, broker.port, broker.rack)
            for broker in snapshot.brokers.values()
        }
        known = {} if topics is None else dict(self._partitions)
        internal = set() if topics is None else set(self.internal_topics)
        for name in topics or ():
            known.pop(name, None)
        for topic in snapshot.topics.values():
            if topic.error is not None and not topic.partitions:
                continue
            known[topic.name] = {
                number: PartitionMetadata(
                    topic.name,
                    number,
                    _NO_LEADER if item.leader is None else item.leader,
                    item.replicas,
                    item.isr,
                    None,
                )
                for number, item in topic.partitions.items()
            }
            if topic.internal:
                internal.add(topic.name)
        self._partitions, self.internal_topics = known, internal
        for listener in list(self._listeners):
            listener(self)
