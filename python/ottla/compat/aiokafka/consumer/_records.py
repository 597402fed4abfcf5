"""Records of the core as aiokafka's ``ConsumerRecord``: the only place that makes them.

Invariant: deserializers are called as by aiokafka: with the bytes alone, also for null, and only as
a record is returned to the application. One that fails leaves the records as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from ottla import Record, _core
from ottla.compat.aiokafka.structs import ConsumerRecord, TopicPartition

__all__ = ["Deserialize", "consumer_records", "deserializer"]

Deserialize = Callable[[Iterable[list[ConsumerRecord[Any, Any]]]], None]


def consumer_records(
    records: list[Record],
) -> dict[TopicPartition, list[ConsumerRecord[Any, Any]]]:
    """Return records by partition, in order; keys and values stay bytes."""
    batches: dict[TopicPartition, list[ConsumerRecord[Any, Any]]] = {}
    for topic, number, some in _core.consumer_records(records):
        partition = TopicPartition(topic, number)
        if partition in batches:
            batches[partition] += some
        else:
            batches[partition] = some
    return batches


def deserializer(
    key_deserializer: Callable[[bytes | None], Any] | None,
    value_deserializer: Callable[[bytes | None], Any] | None,
) -> Deserialize | None:
    """Return the function that deserializes records in place; None if they stay bytes.

    Args:
        key_deserializer: converts keys. Default: they stay bytes.
        value_deserializer: converts values.
    """
    if key_deserializer is None and value_deserializer is None:
        return None

    def deserialize(batches: Iterable[list[ConsumerRecord[Any, Any]]]) -> None:
        records = list(chain.from_iterable(batches))
        converted = [
            (
                record.key if key_deserializer is None else key_deserializer(record.key),
                record.value if value_deserializer is None else value_deserializer(record.value),
            )
            for record in records
        ]
        for record, (key, value) in zip(records, converted, strict=True):
            record.key, record.value = key, value

    return deserialize
