"""Serializers and deserializers of Protobuf."""

from __future__ import annotations

from ottla.compat.confluent_kafka.schema_registry._async.protobuf import (
    AsyncProtobufDeserializer,
    AsyncProtobufDeserializerBuilder,
    AsyncProtobufSerializer,
    AsyncProtobufSerializerBuilder,
)
from ottla.compat.confluent_kafka.schema_registry._sync.protobuf import (
    ProtobufDeserializer,
    ProtobufDeserializerBuilder,
    ProtobufSerializer,
    ProtobufSerializerBuilder,
)
from ottla.compat.confluent_kafka.schema_registry.common.protobuf import (
    PROTOBUF_TYPE,
    _create_index_array,
    _schema_to_str,
    _str_to_proto,
    decimal_to_protobuf,
    get_inline_tags,
    get_type,
    is_map_field,
    protobuf_to_decimal,
    transform,
    validate_message,
)

__all__ = [
    "PROTOBUF_TYPE",
    "AsyncProtobufDeserializer",
    "AsyncProtobufDeserializerBuilder",
    "AsyncProtobufSerializer",
    "AsyncProtobufSerializerBuilder",
    "ProtobufDeserializer",
    "ProtobufDeserializerBuilder",
    "ProtobufSerializer",
    "ProtobufSerializerBuilder",
    "_create_index_array",
    "_schema_to_str",
    "_str_to_proto",
    "decimal_to_protobuf",
    "get_inline_tags",
    "get_type",
    "is_map_field",
    "protobuf_to_decimal",
    "transform",
    "validate_message",
]
