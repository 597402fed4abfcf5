"""Schemas and decimals of Protobuf, and rules on its messages."""

from __future__ import annotations

from ottla.compat.confluent_kafka.schema_registry._protobuf_decimal import (
    MAX_ENCODABLE_COEFFICIENT_DIGITS,
    decimal_to_protobuf,
    protobuf_to_decimal,
)
from ottla.compat.confluent_kafka.schema_registry._protobuf_rules import (
    _is_repeated,
    get_inline_tags,
    get_type,
    is_map_field,
    transform,
    validate_message,
)
from ottla.compat.confluent_kafka.schema_registry._protobuf_schema import (
    PROTOBUF_TYPE,
    _create_index_array,
    _is_builtin,
    _schema_to_str,
    _str_to_proto,
)

__all__ = [
    "MAX_ENCODABLE_COEFFICIENT_DIGITS",
    "PROTOBUF_TYPE",
    "_create_index_array",
    "_is_builtin",
    "_is_repeated",
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
