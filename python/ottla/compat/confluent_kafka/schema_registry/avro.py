"""Serializers and deserializers of Avro."""

from __future__ import annotations

from ottla.compat.confluent_kafka.schema_registry._async.avro import (
    AsyncAvroDeserializer,
    AsyncAvroDeserializerBuilder,
    AsyncAvroSerializer,
    AsyncAvroSerializerBuilder,
)
from ottla.compat.confluent_kafka.schema_registry._sync.avro import (
    AvroDeserializer,
    AvroDeserializerBuilder,
    AvroSerializer,
    AvroSerializerBuilder,
)
from ottla.compat.confluent_kafka.schema_registry.common.avro import (
    AVRO_TYPE,
    AvroMessage,
    AvroSchema,
    _schema_loads,
    get_inline_tags,
    get_type,
    parse_schema_with_repo,
    transform,
    validate_message,
)

__all__ = [
    "AVRO_TYPE",
    "AsyncAvroDeserializer",
    "AsyncAvroDeserializerBuilder",
    "AsyncAvroSerializer",
    "AsyncAvroSerializerBuilder",
    "AvroDeserializer",
    "AvroDeserializerBuilder",
    "AvroMessage",
    "AvroSchema",
    "AvroSerializer",
    "AvroSerializerBuilder",
    "_schema_loads",
    "get_inline_tags",
    "get_type",
    "parse_schema_with_repo",
    "transform",
    "validate_message",
]
