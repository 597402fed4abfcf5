"""Records that were polled, and not returned to the application yet; no I/O.

The core's position is past them, so a partition with held records is at the first of them.
Invariants: a partition's records stay in order, and those of a later poll follow them. The
background poll asks the core only for partitions of which a reader waits for more, so that at most
a poll's records of each are held.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from typing import Any

from ottla.compat.aiokafka.structs import ConsumerRecord, TopicPartition

__all__ = ["HeldRecords", "RecordsByPartition"]

RecordsByPartition = dict[TopicPartition, list[ConsumerRecord[Any, Any]]]


class HeldRecords:
    """Records by partition."""

    def __init__(self) -> None:
        # The next record is the last of its list, where it is removed quickly. No list is empty.
        self._records: RecordsByPartition = {}

    def add(self, polled: Mapping[TopicPartition, list[ConsumerRecord[Any, Any]]]) -> None:
        """Hold records that follow those that are held."""
        for partition, records in polled.items():
            records.reverse()
            self._records[partition] = records + self._records.pop(partition, [])

    def put_back(self, taken: Mapping[TopicPartition, list[ConsumerRecord[Any, Any]]]) -> None:
        """Hold records again that were just taken."""
        for partition, records in taken.items():
            records.reverse()
            self._records[partition] = self._records.pop(partition, []) + records

    def take(
        self,
        partitions: Collection[TopicPartition],
        paused: Container[TopicPartition],
        maximum: int | None,
    ) -> RecordsByPartition:
        """Remove and return records.

        Args:
            partitions: of these partitions only; of all if it is empty.
            paused: but not of these.
            maximum: at most so many. Default: all.
        """
        taken: RecordsByPartition = {}
        for partition in list(self._records):
            if (partitions and partition not in partitions) or partition in paused:
                continue
            records = self._records[partition]
            if maximum is not None and maximum < len(records):
                taken[partition] = records[-maximum:]
                del records[-maximum:]
                maximum = 0
            else:
                taken[partition] = self._records.pop(partition)
                if maximum is not None:
                    maximum -= len(records)
            taken[partition].reverse()
            if maximum == 0:
                break
        return taken

    def take_one(
        self, partitions: Collection[TopicPartition], paused: Container[TopicPartition]
    ) -> tuple[TopicPartition, ConsumerRecord[Any, Any]] | None:
        """Remove and return the next record and its partition; see ``take``."""
        for partition, records in self._records.items():
            if (partitions and partition not in partitions) or partition in paused:
                continue
            record = records.pop()
            if not records:
                del self._records[partition]
            return partition, record
        return None

    def first_offset(self, partition: TopicPartition) -> int | None:
        """Return the offset of a partition's first held record; None if there is none."""
        records = self._records.get(partition)
        return records[-1].offset if records else None

    def first_offsets(self) -> dict[TopicPartition, int]:
        """Return the offsets of the first held records, by partition."""
        return {partition: records[-1].offset for partition, records in self._records.items()}

    def drop(self, partition: TopicPartition) -> None:
        """Forget a partition's records."""
        self._records.pop(partition, None)

    def keep_only(self, partitions: Container[tuple[str, int]]) -> None:
        """Forget the records of all other partitions."""
        self._records = {item: held for item, held in self._records.items() if item in partitions}
