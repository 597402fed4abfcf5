"""Serializers and deserializers of JSON."""

from __future__ import annotations

from ottla.compat.confluent_kafka.schema_registry._async.json_schema import (
    AsyncJSONDeserializer,
    AsyncJSONDeserializerBuilder,
    AsyncJSONSerializer,
    AsyncJSONSerializerBuilder,
)
from ottla.compat.confluent_kafka.schema_registry._sync.json_schema import (
    JSONDeserializer,
    JSONDeserializerBuilder,
    JSONSerializer,
    JSONSerializerBuilder,
)
from ottla.compat.confluent_kafka.schema_registry.common.json_schema import (
    JSON_TYPE,
    JsonMessage,
    JsonSchema,
    _json_dumps,
    _json_loads,
    get_inline_tags,
    get_type,
    transform,
    validate_message,
)

__all__ = [
    "JSON_TYPE",
    "AsyncJSONDeserializer",
    "AsyncJSONDeserializerBuilder",
    "AsyncJSONSerializer",
    "AsyncJSONSerializerBuilder",
    "JSONDeserializer",
    "JSONDeserializerBuilder",
    "JSONSerializer",
    "JSONSerializerBuilder",
    "JsonMessage",
    "JsonSchema",
    "_json_dumps",
    "_json_loads",
    "get_inline_tags",
    "get_type",
    "transform",
    "validate_message",
]
