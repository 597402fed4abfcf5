"""Returns polled records for ``getone`` and ``getmany``, also of some partitions only.

Invariants: a partition's records are returned in order, and only while it is assigned, not paused
and no rebalance is in progress. A cancelled call, or one whose deserializer fails, loses no record:
it is the next one again. ``in_process`` has the first of the records that the application may still
be processing, by partition; automatic commits leave them out.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from ottla import AsyncConsumer
from ottla.compat.aiokafka.consumer._background_poll import BackgroundPoll
from ottla.compat.aiokafka.consumer._held_records import HeldRecords, RecordsByPartition
from ottla.compat.aiokafka.consumer._records import Deserialize
from ottla.compat.aiokafka.errors import ConsumerStoppedError
from ottla.compat.aiokafka.structs import ConsumerRecord, TopicPartition

__all__ = ["Fetcher"]


class Fetcher:
    """The readers' side of a started consumer."""

    def __init__(
        self,
        engine: AsyncConsumer,
        poll: BackgroundPoll,
        held: HeldRecords,
        deserialize: Deserialize | None,
    ) -> None:
        self._engine = engine
        self._poll = poll
        self._held = held
        self._deserialize = deserialize
        self._paused: set[TopicPartition] = set()
        # Whether a rebalance is in progress.
        self.is_blocked = False
        self.in_process: dict[TopicPartition, int] = {}
        # How often held records were dropped, for those that compare positions.
        self.drops = 0

    def take_record(self, partitions: Sequence[TopicPartition]) -> ConsumerRecord[Any, Any] | None:
        """Return the next record if it is held, without waiting; see ``next_record``."""
        poll = self._poll
        self._begin(partitions)
        if poll.is_stopped:
            raise ConsumerStoppedError
        if poll.errors:
            poll.check_error(partitions)
        if poll.is_current and not self.is_blocked:
            taken = self._held.take_one(partitions, self._paused)
            if taken is not None:
                partition, record = taken
                if self._deserialize is not None:
                    self._convert({partition: [record]}, self._deserialize)
                self.in_process[partition] = record.offset
                return record
        return None

    async def next_record(self, partitions: Sequence[TopicPartition]) -> ConsumerRecord[Any, Any]:
        """Wait for a record and return it.

        Args:
            partitions: of these partitions only. Default: of all.

        Raises:
            ConsumerStoppedError: the consumer was stopped.
        """
        while True:
            record = self.take_record(partitions)
            if record is not None:
                return record
            await self._poll.wait(partitions)

    async def fetched_records(
        self, partitions: Sequence[TopicPartition], timeout: float, max_records: int | None
    ) -> RecordsByPartition:
        """Return records by partition, as soon as there are any.

        Args:
            partitions: of these partitions only. Default: of all.
            timeout: seconds to wait.
            max_records: at most so many. Default: no limit.
        """
        poll = self._poll
        self._begin(partitions)
        deadline = poll.last_read + timeout
        has_waited = False
        while not poll.is_stopped:
            if poll.is_current and not self.is_blocked:
                taken = self._held.take(partitions, self._paused, max_records)
                if taken:
                    if self._deserialize is not None:
                        self._convert(taken, self._deserialize)
                    for partition, records in taken.items():
                        self.in_process[partition] = records[0].offset
                    return taken
            poll.check_error(partitions)
            left = deadline - time.monotonic()
            if left <= 0 and has_waited:
                break
            await poll.wait(partitions, max(left, 0))
            has_waited = True
        return {}

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Set a partition's position."""
        self.forget(partition)
        self._poll.change(lambda: self._engine.seek(*partition, offset))

    async def settle(self) -> None:
        """Wait until the core has taken over the changes of the subscription."""
        await self._poll.settle()

    def forget(self, partition: TopicPartition) -> None:
        """Forget the records of a partition, whose position changes."""
        self.drops += 1
        self._held.drop(partition)
        self._poll.forget_errors(partition)
        self.in_process.pop(partition, None)
        self._poll.resume()

    def forget_all(self) -> None:
        """Forget everything at the end of an assignment."""
        self.keep_only(())
        self._poll.forget_errors()

    def keep_only(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Forget the records of all other partitions, and that they are paused."""
        kept = set(partitions)
        self.drops += 1
        self._held.keep_only(kept)
        self._paused &= kept
        self.in_process = {item: at for item, at in self.in_process.items() if item in kept}

    def pause(self, partition: TopicPartition) -> None:
        """Stop returning records of a partition."""
        self._poll.change(lambda: self._engine.pause(partition))
        self._paused.add(partition)

    def resume(self, partition: TopicPartition) -> None:
        """Return records of a partition again."""
        self._poll.change(lambda: self._engine.resume(partition))
        self._paused.discard(partition)
        self._poll.wake_readers()

    def paused(self) -> set[TopicPartition]:
        """Return the partitions that the application has paused."""
        return set(self._paused)

    def held_position(self, partition: TopicPartition) -> int | None:
        """Return the offset of a partition's next record if it is held; else the core has it."""
        return self._held.first_offset(partition)

    def held_positions(self) -> dict[TopicPartition, int]:
        """Return the offsets of the next records that are held, by partition."""
        return self._held.first_offsets()

    def _begin(self, partitions: Sequence[TopicPartition]) -> None:
        """Take note that what earlier calls returned of these partitions is processed."""
        self._poll.last_read = time.monotonic()
        if not partitions:
            self.in_process.clear()
        for partition in partitions:
            self.in_process.pop(partition, None)

    def _convert(self, taken: RecordsByPartition, deserialize: Deserialize) -> None:
        """Deserialize records; if that fails, they are the next ones again."""
        try:
            deserialize(taken.values())
        except BaseException:
            self._held.put_back(taken)
            raise
