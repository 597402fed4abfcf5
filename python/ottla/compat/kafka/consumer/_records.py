"""ottla's records as kafka-python's, with its deserializers.

Invariants: a record that cannot be deserialized is never skipped: the records of its partition from
it on are read again, and the poll after the one that returned the others raises the exception; a
record that fails does not keep the other partitions back.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import ottla
from ottla.compat.kafka._converters import converter_of
from ottla.compat.kafka.consumer.fetcher import ConsumerRecord
from ottla.compat.kafka.structs import TopicPartition

__all__ = ["Deserialized", "Records"]

_partition_of = operator.attrgetter("topic", "partition")


class Deserialized:
    """The records of one poll.

    Attributes:
        records: the records by partition, in order.
        failures: the exception and the first record that was not returned, by partition.
    """

    def __init__(self) -> None:
        self.records: dict[TopicPartition, list[ConsumerRecord]] = {}
        self.failures: dict[TopicPartition, tuple[BaseException, ottla.Record[Any, Any]]] = {}


class Records:
    """Makes records for one consumer."""

    def __init__(self, key_deserializer: Any, value_deserializer: Any) -> None:
        self._key, self._value = (
            None if each is None else converter_of(each.deserialize)
            for each in (key_deserializer, value_deserializer)
        )

    def make(self, record: ottla.Record[Any, Any]) -> ConsumerRecord:
        """Return a record, or raise the exception of a deserializer."""
        topic, key, value = record.topic, record.key, record.value
        headers = list(record.headers)
        key_size = -1 if key is None else len(key)
        value_size = -1 if value is None else len(value)
        header_size = -1
        if headers:
            header_size = sum(len(name.encode()) + len(each or b"") for name, each in headers)
        if self._key is not None:
            key = self._key(topic, headers, key)
        if self._value is not None:
            value = self._value(topic, headers, value)
        # A third of the time of the class's own constructor.
        return ConsumerRecord._make(
            (
                topic,
                record.partition,
                record.leader_epoch,
                record.offset,
                record.timestamp,
                record.timestamp_type,
                key,
                value,
                headers,
                None,
                key_size,
                value_size,
                header_size,
            )
        )

    def make_all(self, records: Sequence[ottla.Record[Any, Any]]) -> Deserialized:
        """Return the records by partition."""
        result = Deserialized()
        # Records of a partition come one after the other.
        for (topic, number), run in itertools.groupby(records, _partition_of):
            partition = TopicPartition(topic, number)
            if partition in result.failures:
                continue
            for record in run:
                try:
                    made = self.make(record)
                except Exception as error:  # noqa: BLE001 - of any deserializer
                    result.failures[partition] = (error, record)
                    break
                result.records.setdefault(partition, []).append(made)
        return result
