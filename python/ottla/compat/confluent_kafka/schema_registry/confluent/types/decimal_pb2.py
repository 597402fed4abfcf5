"""Where ``confluent/type/decimal.proto`` was before; it is imported from there."""

from __future__ import annotations

from ottla.compat.confluent_kafka.schema_registry._protobuf_confluent import (
    LEGACY_DECIMAL,
    file_named,
)

DESCRIPTOR = file_named(LEGACY_DECIMAL)
