"""confluent-kafka's classes over ottla: ``import ottla.compat.confluent_kafka as confluent_kafka``.

Names, signatures, defaults and semantics are those of confluent-kafka and librdkafka;
docs/compare/confluent-kafka.md lists the differences that remain.
"""

from __future__ import annotations

from ottla.compat.confluent_kafka._constants import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OFFSET_STORED,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
)
from ottla.compat.confluent_kafka._kafka_error import (
    ConcurrentModificationException,
    IllegalStateException,
    KafkaError,
    KafkaException,
)
from ottla.compat.confluent_kafka._messages import Message
from ottla.compat.confluent_kafka._model import (
    AcknowledgeType,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    IsolationLevel,
    Messages,
    Node,
    TopicCollection,
    TopicPartitionInfo,
)
from ottla.compat.confluent_kafka._partitioners import consistent, fnv1a, murmur2
from ottla.compat.confluent_kafka._topic_partition import TopicPartition, Uuid
from ottla.compat.confluent_kafka._versions import libversion, version

__all__ = [
    "OFFSET_BEGINNING",
    "OFFSET_END",
    "OFFSET_INVALID",
    "OFFSET_STORED",
    "TIMESTAMP_CREATE_TIME",
    "TIMESTAMP_LOG_APPEND_TIME",
    "TIMESTAMP_NOT_AVAILABLE",
    "AcknowledgeType",
    "ConcurrentModificationException",
    "ConsumerGroupState",
    "ConsumerGroupTopicPartitions",
    "ConsumerGroupType",
    "ElectionType",
    "IllegalStateException",
    "IsolationLevel",
    "KafkaError",
    "KafkaException",
    "Message",
    "Messages",
    "Node",
    "TopicCollection",
    "TopicPartition",
    "TopicPartitionInfo",
    "Uuid",
    "consistent",
    "fnv1a",
    "libversion",
    "murmur2",
    "version",
]

__version__ = version()
