"""Records of the core as aiokafka's ``ConsumerRecord``.

Invariant: deserializers are called as by aiokafka: with the bytes alone, and also for null.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ottla import Record
from ottla.compat.aiokafka.structs import ConsumerRecord

__all__ = ["Converter", "converter"]

Converter = Callable[[Record], ConsumerRecord[Any, Any]]


def converter(
    key_deserializer: Callable[[bytes | None], Any] | None,
    value_deserializer: Callable[[bytes | None], Any] | None,
) -> Converter:
    """Return the function that converts one record.

    Args:
        key_deserializer: converts keys. Default: they stay bytes.
        value_deserializer: converts values.
    """

    def convert(record: Record) -> ConsumerRecord[Any, Any]:
        key, value = record.key, record.value
        return ConsumerRecord(
            record.topic,
            record.partition,
            record.offset,
            record.timestamp,
            record.timestamp_type,
            key,
            value,
            None,
            -1 if key is None else len(key),
            -1 if value is None else len(value),
            record.headers,  # type: ignore[arg-type]  # a header may be null
        )

    if key_deserializer is None and value_deserializer is None:
        return convert

    def convert_and_deserialize(record: Record) -> ConsumerRecord[Any, Any]:
        converted = convert(record)
        if key_deserializer is not None:
            converted.key = key_deserializer(record.key)
        if value_deserializer is not None:
            converted.value = value_deserializer(record.value)
        return converted

    return convert_and_deserialize
