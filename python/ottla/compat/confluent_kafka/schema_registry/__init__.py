"""confluent-kafka's schema registry client, and what its serializers share.

The serializers are in ``avro``, ``json_schema`` and ``protobuf``.
"""

from __future__ import annotations

from ottla.compat.confluent_kafka.schema_registry._async.mock_schema_registry_client import (
    AsyncMockSchemaRegistryClient,
)
from ottla.compat.confluent_kafka.schema_registry._async.schema_registry_client import (
    AsyncSchemaRegistryClient,
)
from ottla.compat.confluent_kafka.schema_registry._schema_id import (
    _KEY_SCHEMA_ID,
    _MAGIC_BYTE_V0,
    _MAGIC_BYTE_V1,
    _VALUE_SCHEMA_ID,
    dual_schema_id_deserializer,
    header_schema_id_serializer,
    prefix_schema_id_deserializer,
    prefix_schema_id_serializer,
)
from ottla.compat.confluent_kafka.schema_registry._strategies import (
    record_subject_name_strategy,
    reference_subject_name_strategy,
    topic_record_subject_name_strategy,
    topic_subject_name_strategy,
)
from ottla.compat.confluent_kafka.schema_registry._sync.mock_schema_registry_client import (
    MockSchemaRegistryClient,
)
from ottla.compat.confluent_kafka.schema_registry._sync.schema_registry_client import (
    SchemaRegistryClient,
)
from ottla.compat.confluent_kafka.schema_registry.common.schema_registry_client import (
    Association,
    AssociationCreateOrUpdateInfo,
    AssociationCreateOrUpdateRequest,
    AssociationInfo,
    AssociationResponse,
    ConfigCompatibilityLevel,
    Metadata,
    MetadataProperties,
    MetadataTags,
    RegisteredSchema,
    Rule,
    RuleKind,
    RuleMode,
    RuleParams,
    RuleSet,
    Schema,
    SchemaReference,
    ServerConfig,
)
from ottla.compat.confluent_kafka.schema_registry.error import SchemaRegistryError
from ottla.compat.confluent_kafka.serialization import (
    MessageField,
    SerializationContext,
    SerializationError,
)

_MAGIC_BYTE = _MAGIC_BYTE_V0
# Importing them makes ``new_client`` know them.
_MOCKS = (AsyncMockSchemaRegistryClient, MockSchemaRegistryClient)

__all__ = [
    "_KEY_SCHEMA_ID",
    "_MAGIC_BYTE_V0",
    "_MAGIC_BYTE_V1",
    "_VALUE_SCHEMA_ID",
    "Association",
    "AssociationCreateOrUpdateInfo",
    "AssociationCreateOrUpdateRequest",
    "AssociationInfo",
    "AssociationResponse",
    "AsyncSchemaRegistryClient",
    "ConfigCompatibilityLevel",
    "MessageField",
    "Metadata",
    "MetadataProperties",
    "MetadataTags",
    "RegisteredSchema",
    "Rule",
    "RuleKind",
    "RuleMode",
    "RuleParams",
    "RuleSet",
    "Schema",
    "SchemaReference",
    "SchemaRegistryClient",
    "SchemaRegistryError",
    "SerializationContext",
    "SerializationError",
    "ServerConfig",
    "dual_schema_id_deserializer",
    "header_schema_id_serializer",
    "prefix_schema_id_deserializer",
    "prefix_schema_id_serializer",
    "record_subject_name_strategy",
    "reference_subject_name_strategy",
    "topic_record_subject_name_strategy",
    "topic_subject_name_strategy",
]
