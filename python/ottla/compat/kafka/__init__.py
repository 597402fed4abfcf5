"""kafka-python's interface over ottla: ``KafkaConsumer``, ``KafkaProducer``, ``KafkaAdminClient``.

The names, arguments, defaults and results are those of kafka-python 3; programs for version 2 run
as well. docs/compare lists what differs. Invariant: the layer adds no thread and no connection to
those of ottla.
"""

from ottla.compat.kafka.admin.client import KafkaAdminClient
from ottla.compat.kafka.consumer.group import KafkaConsumer
from ottla.compat.kafka.consumer.subscription_state import (
    AsyncConsumerRebalanceListener,
    ConsumerRebalanceListener,
)
from ottla.compat.kafka.producer.kafka import KafkaProducer
from ottla.compat.kafka.protocol.consumer import IsolationLevel, OffsetSpec
from ottla.compat.kafka.serializer import (
    DefaultSerializer,
    Deserializer,
    JsonSerializer,
    Serializer,
)
from ottla.compat.kafka.structs import (
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    TopicPartition,
    TopicPartitionReplica,
)
from ottla.compat.kafka.version import __version__

__all__ = [
    "AsyncConsumerRebalanceListener",
    "ConsumerGroupMetadata",
    "ConsumerRebalanceListener",
    "DefaultSerializer",
    "Deserializer",
    "IsolationLevel",
    "JsonSerializer",
    "KafkaAdminClient",
    "KafkaConsumer",
    "KafkaProducer",
    "OffsetAndMetadata",
    "OffsetSpec",
    "Serializer",
    "TopicPartition",
    "TopicPartitionReplica",
    "__version__",
]
