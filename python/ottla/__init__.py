"""ottla: a topology-aware Apache Kafka client.

``Client`` looks up metadata and offsets, ``Producer`` writes, ``Consumer`` reads, ``scan`` reads a
bounded part of a topic as Arrow, ``ShareConsumer`` reads as a member of a share group,
``transform`` reads and writes exactly once, and ``Admin`` manages a cluster.
``AsyncClient``, ``AsyncProducer``, ``AsyncConsumer``, ``AsyncShareConsumer`` and ``AsyncAdmin`` are
their counterparts for asyncio.
``ottla.schema`` is for Avro, Protobuf and JSON, ``ottla.testing`` runs a cluster in the process,
``ottla.spark`` reads and writes in PySpark, and ``diagnose`` checks connections.

Importing starts nothing. Objects that were created before a fork raise ``ClosedError`` in the
child, where new ones work. Invariant: asyncio, the doctor and other parts that not every
application needs are imported on first use, because Spark imports this in many short-lived
processes.
"""

import logging
from typing import TYPE_CHECKING

from ottla import errors
from ottla._internal.loading import load_later
from ottla.errors import KafkaError

try:
    from ottla._core import (
        ApiStatistics,
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
        PreparedTransaction,
        Producer,
        ProducerState,
        Record,
        RecordBatch,
        RecordMetadata,
        RequestStatistics,
        Scan,
        ShareConsumer,
        SlowRequest,
        Topic,
        TransactionDescription,
        TransactionListing,
        Watermarks,
        __version__,
        check_config,
        partition_for_key,
        partitions_for_keys,
    )
except ImportError as error:
    from ottla._internal.missing_core import explain_missing_core

    raise explain_missing_core(error) from error

if TYPE_CHECKING:
    from ottla import (
        admin,
        assignors,
        config_types,
        console,
        deserializers,
        identities,
        interceptors,
        otel,
        partitioners,
        processing,
        prometheus,
        schema,
        serializers,
        spark,
        testing,
    )
    from ottla._internal.acknowledge_type import AcknowledgeType
    from ottla._internal.async_consumer import AsyncConsumer
    from ottla._internal.async_scan import AsyncScan, scan_async
    from ottla._internal.async_share_consumer import AsyncShareConsumer
    from ottla._internal.connections import Connections
    from ottla._internal.metrics import Metrics, ProducerMetrics, TopicMetrics
    from ottla._internal.scanning import scan
    from ottla._internal.token_providers import register_token_provider
    from ottla._internal.transform_calls import transform, transform_async
    from ottla._internal.transform_steps import TransformSummary
    from ottla.admin import Admin, AsyncAdmin
    from ottla.admin.open_transactions import OpenTransaction
    from ottla.doctor import diagnose

__all__ = [
    "AcknowledgeType",
    "Admin",
    "ApiStatistics",
    "AsyncAdmin",
    "AsyncBatchDelivery",
    "AsyncClient",
    "AsyncConsumer",
    "AsyncEvents",
    "AsyncProducer",
    "AsyncScan",
    "AsyncShareConsumer",
    "BatchDelivery",
    "Broker",
    "Client",
    "Cluster",
    "ConnectionStatus",
    "Connections",
    "Consumer",
    "Delivery",
    "Event",
    "Events",
    "GroupMetadata",
    "KafkaError",
    "Metrics",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OpenTransaction",
    "Partition",
    "PreparedTransaction",
    "Producer",
    "ProducerMetrics",
    "ProducerState",
    "Record",
    "RecordBatch",
    "RecordMetadata",
    "RequestStatistics",
    "Scan",
    "ShareConsumer",
    "SlowRequest",
    "Topic",
    "TopicMetrics",
    "TransactionDescription",
    "TransactionListing",
    "TransformSummary",
    "Watermarks",
    "__version__",
    "admin",
    "assignors",
    "check_config",
    "config_types",
    "console",
    "deserializers",
    "diagnose",
    "errors",
    "identities",
    "interceptors",
    "otel",
    "partition_for_key",
    "partitioners",
    "partitions_for_keys",
    "processing",
    "prometheus",
    "register_token_provider",
    "scan",
    "scan_async",
    "schema",
    "serializers",
    "spark",
    "testing",
    "transform",
    "transform_async",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__, __dir__ = load_later(
        __name__,
        {
            "AcknowledgeType": "_internal.acknowledge_type",
            "Admin": "admin",
            "AsyncAdmin": "admin",
            "AsyncConsumer": "_internal.async_consumer",
            "AsyncScan": "_internal.async_scan",
            "AsyncShareConsumer": "_internal.async_share_consumer",
            "Connections": "_internal.connections",
            "Metrics": "_internal.metrics",
            "OpenTransaction": "admin.open_transactions",
            "ProducerMetrics": "_internal.metrics",
            "TopicMetrics": "_internal.metrics",
            "TransformSummary": "_internal.transform_steps",
            "diagnose": "doctor",
            "register_token_provider": "_internal.token_providers",
            "scan": "_internal.scanning",
            "scan_async": "_internal.async_scan",
            "transform": "_internal.transform_calls",
            "transform_async": "_internal.transform_calls",
        },
        {
            "admin",
            "assignors",
            "config_types",
            "console",
            "dask",
            "deserializers",
            "doctor",
            "duckdb",
            "identities",
            "interceptors",
            "otel",
            "partitioners",
            "polars",
            "processing",
            "prometheus",
            "ray",
            "schema",
            "serializers",
            "spark",
            "testing",
        },
    )

# The application decides how to handle the log of a library.
logging.getLogger(__name__).addHandler(logging.NullHandler())
