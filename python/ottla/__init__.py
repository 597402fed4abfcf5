"""ottla: a topology-aware Apache Kafka client.

``Client`` knows the cluster, ``Producer`` writes, ``Consumer`` reads, ``scan`` reads a bounded part
of a topic as Arrow, ``ottla.testing`` runs a cluster in the process, ``ottla.spark`` reads from
PySpark. Nothing starts at import; what is made before a fork refuses to work after it, and a new
one works.
"""

import logging

from ottla import deserializers, errors, interceptors, serializers
from ottla._core import (
    Admin,
    AsyncBatchDelivery,
    AsyncClient,
    AsyncEvents,
    AsyncProducer,
    BatchDelivery,
    Broker,
    Client,
    Cluster,
    ConnectionStatus,
    Consumer,
    Delivery,
    Event,
    Events,
    GroupMetadata,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    Partition,
    Producer,
    Record,
    RecordBatch,
    RecordMetadata,
    Scan,
    Topic,
    __version__,
    partition_for_key,
    partitions_for_keys,
)
from ottla.async_consumer import AsyncConsumer
from ottla.doctor import diagnose
from ottla.errors import KafkaError
from ottla.metrics import Metrics, ProducerMetrics, TopicMetrics
from ottla.scanning import scan

__all__ = [
    "Admin",
    "AsyncBatchDelivery",
    "AsyncClient",
    "AsyncConsumer",
    "AsyncEvents",
    "AsyncProducer",
    "BatchDelivery",
    "Broker",
    "Client",
    "Cluster",
    "ConnectionStatus",
    "Consumer",
    "Delivery",
    "Event",
    "Events",
    "GroupMetadata",
    "KafkaError",
    "Metrics",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "Partition",
    "Producer",
    "ProducerMetrics",
    "Record",
    "RecordBatch",
    "RecordMetadata",
    "Scan",
    "Topic",
    "TopicMetrics",
    "__version__",
    "deserializers",
    "diagnose",
    "errors",
    "interceptors",
    "partition_for_key",
    "partitions_for_keys",
    "scan",
    "serializers",
]

# A library leaves it to the program what to do with its log.
logging.getLogger(__name__).addHandler(logging.NullHandler())
