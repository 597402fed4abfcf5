"""The cluster's metadata as ``list_topics`` returns it, from a snapshot of ottla.

Invariant: objects are the application's own; nothing here refers to the client.
"""

from __future__ import annotations

import ottla
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.error_code import ErrorCode


class ClusterMetadata:
    """The cluster, its brokers and its topics."""

    def __init__(self) -> None:
        self.cluster_id: str | None = None
        self.controller_id = -1
        self.brokers: dict[int, BrokerMetadata] = {}
        self.topics: dict[str, TopicMetadata] = {}
        self.orig_broker_id = -1
        self.orig_broker_name: str | None = None

    def __repr__(self) -> str:
        return f"ClusterMetadata({self.cluster_id})"

    def __str__(self) -> str:
        return str(self.cluster_id)


class BrokerMetadata:
    """A broker: its id and its address."""

    def __init__(self) -> None:
        self.id = -1
        self.host: str | None = None
        self.port = -1

    def __repr__(self) -> str:
        return f"BrokerMetadata({self.id}, {self.host}:{self.port})"

    def __str__(self) -> str:
        return f"{self.host}:{self.port}/{self.id}"


class TopicMetadata:
    """A topic: its partitions by number, or its error."""

    def __init__(self) -> None:
        self.topic: str | None = None
        self.partitions: dict[int, PartitionMetadata] = {}
        self.error: KafkaError | None = None

    def __repr__(self) -> str:
        error = "" if self.error is None else f", {self.error}"
        return f"TopicMetadata({self.topic}, {len(self.partitions)} partitions{error})"

    def __str__(self) -> str:
        return str(self.topic)


class PartitionMetadata:
    """A partition: its leader and its replicas, or its error."""

    def __init__(self) -> None:
        self.id = -1
        self.leader = -1
        self.replicas: list[int] = []
        self.isrs: list[int] = []
        self.error: KafkaError | None = None

    def __repr__(self) -> str:
        error = "" if self.error is None else f", {self.error}"
        return f"PartitionMetadata({self.id}{error})"

    def __str__(self) -> str:
        return str(self.id)


def error_of(name: str | None) -> KafkaError | None:
    """Return the error for Kafka's name of it, which ottla's metadata contains."""
    if name is None:
        return None
    return KafkaError(ErrorCode.__members__.get(name, ErrorCode.UNKNOWN_SERVER_ERROR))


def _partition(partition: ottla.Partition) -> PartitionMetadata:
    made = PartitionMetadata()
    made.id = partition.index
    made.leader = -1 if partition.leader is None else partition.leader
    made.replicas = partition.replicas
    made.isrs = partition.isr
    made.error = error_of(partition.error)
    return made


def topic_metadata(name: str, topic: ottla.Topic | None) -> TopicMetadata:
    """Return a topic of a snapshot; an error if it is not there."""
    made = TopicMetadata()
    made.topic = name
    if topic is None:
        made.error = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return made
    made.partitions = {n: _partition(partition) for n, partition in topic.partitions.items()}
    made.error = error_of(topic.error)
    return made


def cluster_metadata(cluster: ottla.Cluster, topics: list[str]) -> ClusterMetadata:
    """Return a snapshot with these of its topics."""
    made = ClusterMetadata()
    made.cluster_id = cluster.cluster_id
    for broker in cluster.brokers.values():
        entry = BrokerMetadata()
        entry.id, entry.host, entry.port = broker.id, broker.host, broker.port
        made.brokers[broker.id] = entry
    if made.brokers:
        # The snapshot does not say which broker sent it; its first one is as good as another.
        origin = made.brokers[min(made.brokers)]
        made.orig_broker_id, made.orig_broker_name = origin.id, str(origin)
    known = cluster.topics
    made.topics = {name: topic_metadata(name, known.get(name)) for name in topics}
    return made
