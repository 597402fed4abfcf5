"""Records that were taken from the core for other partitions than a call asked for; no I/O.

The core returns the next record of any partition. Invariants: a partition's held records come
before those that the core still has. A partition of which ``LIMIT`` records are held is paused in
the core, so that no more than twice as many are held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Sequence

from ottla import Record
from ottla.compat.aiokafka.structs import TopicPartition

__all__ = ["LIMIT", "HeldRecords"]

LIMIT = 500
"""Held records of a partition from which on it is paused in the core."""


class HeldRecords:
    """Records by partition, each in order."""

    def __init__(self) -> None:
        self._records: dict[TopicPartition, deque[Record]] = {}

    def __bool__(self) -> bool:
        return bool(self._records)

    def add(self, records: Iterable[Record]) -> None:
        """Hold records that follow those that are held."""
        for record in records:
            partition = TopicPartition(record.topic, record.partition)
            self._records.setdefault(partition, deque()).append(record)

    def put_back(self, records: Iterable[Record]) -> None:
        """Hold records that precede those that are held."""
        for record in reversed(list(records)):
            partition = TopicPartition(record.topic, record.partition)
            self._records.setdefault(partition, deque()).appendleft(record)

    def take(
        self,
        partitions: Sequence[TopicPartition],
        paused: Container[TopicPartition],
        maximum: int | None,
    ) -> list[Record]:
        """Remove and return records.

        Args:
            partitions: of these partitions only; of all if it is empty.
            paused: but not of these.
            maximum: at most so many. Default: all.
        """
        taken: list[Record] = []
        for partition in list(self._records):
            if (partitions and partition not in partitions) or partition in paused:
                continue
            held = self._records[partition]
            while held and (maximum is None or len(taken) < maximum):
                taken.append(held.popleft())
            if not held:
                del self._records[partition]
        return taken

    def first_offset(self, partition: TopicPartition) -> int | None:
        """Return the offset of a partition's first held record; None if there is none."""
        held = self._records.get(partition)
        return held[0].offset if held else None

    def count(self, partition: TopicPartition) -> int:
        """Return the number of a partition's held records."""
        return len(self._records.get(partition, ()))

    def drop(self, partition: TopicPartition) -> None:
        """Forget a partition's records."""
        self._records.pop(partition, None)

    def clear(self) -> None:
        """Forget all records."""
        self._records.clear()

    def partitions(self) -> list[TopicPartition]:
        """Return the partitions with held records."""
        return list(self._records)
