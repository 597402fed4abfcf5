"""Decimals: the digits as a number in big-endian two's complement, their count, and the scale."""

from __future__ import annotations

from ottla.compat.confluent_kafka.schema_registry._protobuf_confluent import (
    DECIMAL,
    file_named,
    message_class,
)

DESCRIPTOR = file_named(DECIMAL)
Decimal = message_class(DECIMAL, "Decimal")
