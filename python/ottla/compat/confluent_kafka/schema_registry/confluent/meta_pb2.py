"""Options of Protobuf schemas: the documentation, parameters, tags and rules of their parts."""

from __future__ import annotations

from ottla.compat.confluent_kafka.schema_registry._protobuf_confluent import (
    META,
    file_named,
    message_class,
)

DESCRIPTOR = file_named(META)
Meta = message_class(META, "Meta")
Rule = message_class(META, "Rule")
file_meta = DESCRIPTOR.extensions_by_name["file_meta"]
message_meta = DESCRIPTOR.extensions_by_name["message_meta"]
field_meta = DESCRIPTOR.extensions_by_name["field_meta"]
enum_meta = DESCRIPTOR.extensions_by_name["enum_meta"]
enum_value_meta = DESCRIPTOR.extensions_by_name["enum_value_meta"]
