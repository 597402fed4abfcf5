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
from ottla.compat.confluent_kafka._consumer import Consumer
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
from ottla.compat.confluent_kafka._producer import Producer
from ottla.compat.confluent_kafka._share_consumer import ShareConsumer
from ottla.compat.confluent_kafka._throttle import ThrottleEvent
from ottla.compat.confluent_kafka._topic_partition import TopicPartition, Uuid
from ottla.compat.confluent_kafka._versions import libversion, version
from ottla.compat.confluent_kafka.deserializing_consumer import DeserializingConsumer
from ottla.compat.confluent_kafka.deserializing_share_consumer import DeserializingShareConsumer
from ottla.compat.confluent_kafka.serializing_producer import SerializingProducer

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
    "Consumer",
    "ConsumerGroupState",
    "ConsumerGroupTopicPartitions",
    "ConsumerGroupType",
    "DeserializingConsumer",
    "DeserializingShareConsumer",
    "ElectionType",
    "IllegalStateException",
    "IsolationLevel",
    "KafkaError",
    "KafkaException",
    "Message",
    "Messages",
    "Node",
    "Producer",
    "SerializingProducer",
    "ShareConsumer",
    "ThrottleEvent",
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
