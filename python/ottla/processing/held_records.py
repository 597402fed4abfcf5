"""The records that were polled and are not handled yet, by partition, and when each is due.

Invariants: a partition with held records is paused, so that it holds no more than one poll
returned; records of a partition leave in their order. What a partition holds is dropped with it:
its new owner reads it again from the committed offset.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ottla._core import Record
from ottla.processing.letter_headers import Origin

__all__ = ["HeldRecords", "Item"]

Partition = tuple[str, int]


@dataclass(frozen=True)
class Item:
    """A record as it was polled, and where it is from."""

    polled: Record[bytes | None, bytes | None]
    origin: Origin
    is_foreign: bool
    """Whether the handler of another group failed with it."""
    root: str | None = None
    """The topic whose records are in the retry topic that it was polled from; None otherwise."""


class HeldRecords:
    """The held records of a consumer."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self._queues: dict[Partition, deque[Any]] = {}
        # The offset of the first record that waits, and when it is due by the monotonic clock.
        self._due: dict[Partition, tuple[int, float]] = {}
        self._paused: set[Partition] = set()

    def add(self, records: Iterable[Any]) -> None:
        """Hold records that were polled."""
        for record in records:
            self._queues.setdefault((record.topic, record.partition), deque()).append(record)

    def drop(self, partitions: Iterable[Partition]) -> None:
        """Forget partitions that are not owned any more."""
        for partition in partitions:
            self._queues.pop(partition, None)
            self._due.pop(partition, None)
            self._paused.discard(partition)

    def pause(self) -> None:
        """Pause the partitions with held records, and resume the others."""
        assigned = set(self._consumer.assignment())
        held = {partition for partition, queue in self._queues.items() if queue} & assigned
        if added := held - self._paused:
            self._consumer.pause(*sorted(added))
        if freed := (self._paused - held) & assigned:
            self._consumer.resume(*sorted(freed))
        self._paused = held

    def ready(self) -> list[Partition]:
        """Return the partitions whose first record is due, as far as known."""
        now = time.monotonic()
        return [
            partition
            for partition, queue in self._queues.items()
            if queue and self._due.get(partition, (0, 0.0))[1] <= now
        ]

    def seconds_to_next(self, longest: float) -> float:
        """Return the seconds until a record is due; 0 if one is."""
        if self.ready():
            return 0.0
        times = [due for partition, (_, due) in self._due.items() if self._queues.get(partition)]
        return min([longest, *(max(due - time.monotonic(), 0.001) for due in times)])

    def wait(self, partition: Partition, offset: int, seconds: float) -> None:
        """Let a partition wait until its first record is due."""
        self._due[partition] = (offset, time.monotonic() + seconds)

    def seconds_left(self, partition: Partition) -> float:
        """Return the seconds until the first record of a partition is due; 0 or less if it is."""
        return self._due.get(partition, (0, 0.0))[1] - time.monotonic()

    def is_due(self, partition: Partition, offset: int) -> bool:
        """Return whether a record has waited here for as long as it had to."""
        waited, due = self._due.get(partition, (-1, 0.0))
        return waited == offset and due <= time.monotonic()

    def take(
        self,
        partition: Partition,
        limit: int,
        item: Callable[[Any], Item],
        wait: Callable[..., float],
    ) -> Sequence[Item]:
        """Return the first records of a partition that are due; they stay held.

        Args:
            partition: the partition.
            limit: the maximum number of records.
            item: returns what is known of a record.
            wait: returns the seconds that a record has to wait.
        """
        taken: list[Item] = []
        for record in self._queues[partition]:
            if len(taken) == limit:
                break
            each = item(record)
            seconds = 0.0 if self.is_due(partition, record.offset) else wait(each)
            if seconds > 0:
                if not taken:
                    self.wait(partition, record.offset, seconds)
                break
            taken.append(each)
        return taken

    def handled(self, partition: Partition, count: int) -> None:
        """Remove the first records of a partition."""
        queue = self._queues[partition]
        for _ in range(count):
            queue.popleft()
        self._due.pop(partition, None)

    def first_due(self) -> float:
        """Return the seconds until the first of the waiting records is due; from any thread."""
        now = time.monotonic()
        left = [due - now for _, due in list(self._due.values())]
        return max(min(left, default=0.0), 0.0)

    def count(self, topics: Iterable[str]) -> int:
        """Return how many records of topics are held; from any thread."""
        wanted = set(topics)
        return sum(
            len(queue) for (topic, _), queue in list(self._queues.items()) if topic in wanted
        )
