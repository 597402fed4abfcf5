"""Records, offsets and metadata as aiokafka's programs know them.

Invariant: the fields, their order and the equality of each type are aiokafka's, so that programs
may unpack, compare and construct them.
"""

from __future__ import annotations

from typing import NamedTuple

from ottla._core import ConsumerRecord
from ottla.compat.aiokafka.errors import KafkaError

__all__ = [
    "BrokerMetadata",
    "ConsumerRecord",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "PartitionMetadata",
    "RecordMetadata",
    "TopicPartition",
]


class TopicPartition(NamedTuple):
    """A topic and the number of one of its partitions."""

    topic: str
    partition: int


class BrokerMetadata(NamedTuple):
    """A broker of the cluster."""

    nodeId: int | str  # noqa: N815 - aiokafka's name
    host: str
    port: int
    rack: str | None


class PartitionMetadata(NamedTuple):
    """A partition, its leader (-1 while there is none) and its replicas."""

    topic: str
    partition: int
    leader: int
    replicas: list[int]
    isr: list[int]
    error: KafkaError | None


class OffsetAndMetadata(NamedTuple):
    """An offset to commit, with the text that the group stores with it."""

    offset: int
    metadata: str


class OffsetAndTimestamp(NamedTuple):
    """The offset of a record that was looked up by time, and the record's timestamp."""

    offset: int
    timestamp: int | None


class RecordMetadata(NamedTuple):
    """Where a record was written."""

    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int | None
    timestamp_type: int
    log_start_offset: int | None
