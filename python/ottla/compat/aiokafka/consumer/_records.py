"""Records of the core as aiokafka's ``ConsumerRecord``: the only place that makes them.

Invariant: deserializers are called as by aiokafka: with the bytes alone, also for null, and only as
a record is returned to the application. One that fails leaves the records as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from ottla import Record
from ottla.compat.aiokafka.structs import ConsumerRecord, TopicPartition

__all__ = ["Deserialize", "consumer_records", "deserializer"]

Deserialize = Callable[[Iterable[list[ConsumerRecord[Any, Any]]]], None]


def consumer_records(
    records: Iterable[Record],
) -> dict[TopicPartition, list[ConsumerRecord[Any, Any]]]:
    """Return records by partition, in order; keys and values stay bytes."""
    batches: dict[TopicPartition, list[ConsumerRecord[Any, Any]]] = {}
    new = object.__new__
    topic, number, append = "", -1, None
    for record in records:
        # Records of a partition follow each other, and share the string of their topic.
        if append is None or record.partition != number or record.topic is not topic:
            topic, number = record.topic, record.partition
            append = batches.setdefault(TopicPartition(topic, number), []).append
        # The constructor would take a third of the time.
        made: ConsumerRecord[Any, Any] = new(ConsumerRecord)
        made.topic, made.partition = topic, number
        made.offset = record.offset
        made.timestamp = record.timestamp
        made.timestamp_type = record.timestamp_type
        made.key = key = record.key
        made.value = value = record.value
        made.checksum = None
        made.serialized_key_size = -1 if key is None else len(key)
        made.serialized_value_size = -1 if value is None else len(value)
        made.headers = record.headers  # type: ignore[assignment]  # a header may be null
        append(made)
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
