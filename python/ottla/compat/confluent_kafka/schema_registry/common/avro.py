"""Avro schemas, and rules on values of Avro."""

from __future__ import annotations

from ottla.compat.confluent_kafka.schema_registry._avro_parsed import AVRO_TYPE
from ottla.compat.confluent_kafka.schema_registry._avro_rules import (
    _collapse_schema,
    _resolve_union,
    get_inline_tags,
    get_type,
    transform,
    validate_message,
)
from ottla.compat.confluent_kafka.schema_registry._avro_schema import AvroMessage, AvroSchema
from ottla.compat.confluent_kafka.schema_registry._avro_schema import load_text as _schema_loads
from ottla.compat.confluent_kafka.schema_registry._avro_schema import (
    parse as parse_schema_with_repo,
)

__all__ = [
    "AVRO_TYPE",
    "AvroMessage",
    "AvroSchema",
    "_collapse_schema",
    "_resolve_union",
    "_schema_loads",
    "get_inline_tags",
    "get_type",
    "parse_schema_with_repo",
    "transform",
    "validate_message",
]
