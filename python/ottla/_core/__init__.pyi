"""The Rust core. Import its names from ``ottla``; the docstrings are here.

The modules of this package exist only for type checkers and editors: at runtime ``ottla._core`` is
one extension module, which has all of these names.
"""

from ottla._core.admin import Admin
from ottla._core.admin_call import AdminCall, error_of_code, no_broker_to_ask
from ottla._core.argument_kinds import is_bool, is_index, is_text
from ottla._core.async_admin import AsyncAdmin
from ottla._core.async_consumer import AsyncConsumerBase
from ottla._core.async_producer import AsyncProducer
from ottla._core.async_share_consumer import AsyncShareConsumerBase
from ottla._core.client import AsyncClient, Client, async_client_of, client_of
from ottla._core.client_base import ClientBase
from ottla._core.cluster import Broker, Cluster, Partition, Topic
from ottla._core.column_format import (
    ArrowType,
    Avro,
    ColumnFormat,
    DeadLetters,
    Json,
    Protobuf,
    encode_printed,
    infer_json,
)
from ottla._core.compat import (
    ConsumerRecord,
    Message,
    MessageProducer,
    MessageReader,
    OffsetStore,
    ReportQueue,
    consumer_records,
)
from ottla._core.config import (
    check_config,
    check_schema_limits,
    config_row_of,
    config_rows,
    other_client_config_rows,
    read_properties,
    schema_limit_rows,
)
from ottla._core.connection_status import ConnectionStatus
from ottla._core.consumer import Consumer
from ottla._core.consumer_base import ConsumerBase
from ottla._core.consumer_call import ConsumerCall, RebalanceChange
from ottla._core.delivery import (
    AsyncBatchDelivery,
    BatchDelivery,
    Delivery,
    DeliveryReports,
    RecordMetadata,
)
from ottla._core.doctor import examine
from ottla._core.error_codes import error_codes, proves_no_change, repetition_of
from ottla._core.events import AsyncEvents, Event, Events
from ottla._core.gateway import Gateway, GatewayAccessLog, GatewayStatus
from ottla._core.group import GroupMetadata, MemberSubscription
from ottla._core.log_events import LogEvents
from ottla._core.mock import MockCluster, MockRegistry
from ottla._core.offsets import OffsetAndMetadata, OffsetAndTimestamp, Watermarks
from ottla._core.partitioner import Array, partition_for_key, partitions_for_keys
from ottla._core.producer import Producer
from ottla._core.producer_base import ProducerBase
from ottla._core.records import Record, RecordBatch
from ottla._core.request_statistics import ApiStatistics, RequestStatistics, SlowRequest
from ottla._core.scan import AsyncScanBase, Scan
from ottla._core.schema_registry import (
    AsyncRegistry,
    Compatibility,
    Registry,
    RegistrySetting,
    Schema,
    SchemaReference,
    registry_config_rows,
)
from ottla._core.share_consumer import ShareConsumer
from ottla._core.share_consumer_base import ShareConsumerBase
from ottla._core.transactions import (
    OpenTransaction,
    PreparedTransaction,
    ProducerState,
    TransactionDescription,
    TransactionListing,
)

__all__ = [
    "Admin",
    "AdminCall",
    "ApiStatistics",
    "Array",
    "ArrowType",
    "AsyncAdmin",
    "AsyncBatchDelivery",
    "AsyncClient",
    "AsyncConsumerBase",
    "AsyncEvents",
    "AsyncProducer",
    "AsyncRegistry",
    "AsyncScanBase",
    "AsyncShareConsumerBase",
    "Avro",
    "BatchDelivery",
    "Broker",
    "Client",
    "ClientBase",
    "Cluster",
    "ColumnFormat",
    "Compatibility",
    "ConnectionStatus",
    "Consumer",
    "ConsumerBase",
    "ConsumerCall",
    "ConsumerRecord",
    "DeadLetters",
    "Delivery",
    "DeliveryReports",
    "Event",
    "Events",
    "Gateway",
    "GatewayAccessLog",
    "GatewayStatus",
    "GroupMetadata",
    "Json",
    "LogEvents",
    "MemberSubscription",
    "Message",
    "MessageProducer",
    "MessageReader",
    "MockCluster",
    "MockRegistry",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OffsetStore",
    "OpenTransaction",
    "Partition",
    "PreparedTransaction",
    "Producer",
    "ProducerBase",
    "ProducerState",
    "Protobuf",
    "RebalanceChange",
    "Record",
    "RecordBatch",
    "RecordMetadata",
    "Registry",
    "RegistrySetting",
    "ReportQueue",
    "RequestStatistics",
    "Scan",
    "Schema",
    "SchemaReference",
    "ShareConsumer",
    "ShareConsumerBase",
    "SlowRequest",
    "Topic",
    "TransactionDescription",
    "TransactionListing",
    "Watermarks",
    "__version__",
    "async_client_of",
    "check_config",
    "check_schema_limits",
    "client_of",
    "config_row_of",
    "config_rows",
    "consumer_records",
    "encode_printed",
    "error_codes",
    "error_of_code",
    "examine",
    "infer_json",
    "is_bool",
    "is_index",
    "is_text",
    "no_broker_to_ask",
    "other_client_config_rows",
    "partition_for_key",
    "partitions_for_keys",
    "proves_no_change",
    "read_properties",
    "registry_config_rows",
    "repetition_of",
    "schema_limit_rows",
]

__version__: str
