"""ottla: a topology-aware Apache Kafka client.

``Client`` knows the cluster, ``Producer`` writes, ``Consumer`` reads, ``scan`` reads a bounded part
of a topic as Arrow, ``ottla.testing`` runs a cluster in the process, ``ottla.spark`` reads from
PySpark. Nothing starts at import; what is made before a fork refuses to work after it, and a new
one works. Invariant: what not every program needs is loaded when it is first asked for, asyncio and
the doctor before all, for Spark imports this in several short-lived processes.
"""

import importlib
import logging
from typing import TYPE_CHECKING

from ottla import errors
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
from ottla.errors import KafkaError

if TYPE_CHECKING:
    from ottla import deserializers, interceptors, serializers
    from ottla.async_consumer import AsyncConsumer
    from ottla.doctor import diagnose
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

# What is loaded on first use: a name and the module that has it, or a module.
_LATER = {
    "AsyncConsumer": "async_consumer",
    "Metrics": "metrics",
    "ProducerMetrics": "metrics",
    "TopicMetrics": "metrics",
    "diagnose": "doctor",
    "scan": "scanning",
}
_MODULES = {*_LATER.values(), "deserializers", "interceptors", "serializers"}

if not TYPE_CHECKING:  # it would make every name one that exists

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *_LATER, *_MODULES})


# A library leaves it to the program what to do with its log.
logging.getLogger(__name__).addHandler(logging.NullHandler())
