"""Takes records from the core for ``getone`` and ``getmany``, also of some partitions only.

Invariants: a partition's records are returned in order, and only while it is assigned, not paused
and no rebalance is in progress. A cancelled call, or one whose deserializer fails, loses no record:
it is the next one again. ``in_process`` has the records that the application may still be
processing, which automatic commits leave out.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from ottla import AsyncConsumer, Record
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._error_mapping import peer_error
from ottla.compat.aiokafka.consumer._background_poll import BackgroundPoll
from ottla.compat.aiokafka.consumer._held_records import LIMIT, HeldRecords
from ottla.compat.aiokafka.consumer._records import Converter
from ottla.compat.aiokafka.errors import ConsumerStoppedError, IllegalStateError
from ottla.compat.aiokafka.structs import ConsumerRecord, TopicPartition

__all__ = ["Fetcher"]

_ALL = 2**31 - 1


class Fetcher:
    """The readers' side of a started consumer."""

    def __init__(self, engine: AsyncConsumer, poll: BackgroundPoll, convert: Converter) -> None:
        self._engine = engine
        self._poll = poll
        self._convert = convert
        self._pop = engine._pop_record  # noqa: SLF001 - the next record, without waiting
        self._held = HeldRecords()
        self._paused: set[TopicPartition] = set()
        # Paused in the core alone, since too many of their records are held.
        self._full: set[TopicPartition] = set()
        # Whether a rebalance is in progress.
        self.is_blocked = False
        self.in_process: Sequence[Record] = ()
        # The offset after the last returned record, by topic and number.
        self._consumed: dict[tuple[str, int], int] = {}

    async def next_record(self, partitions: Sequence[TopicPartition]) -> ConsumerRecord[Any, Any]:
        """Wait for a record and return it.

        Args:
            partitions: of these partitions only. Default: of all.

        Raises:
            ConsumerStoppedError: the consumer was stopped.
        """
        self._begin()
        while True:
            self._check(partitions)
            record = self._take_one(partitions) if self._may_take() else None
            if record is not None:
                return self._deliver([record])[0]
            await self._poll.wait()

    async def fetched_records(
        self, partitions: Sequence[TopicPartition], timeout: float, max_records: int | None
    ) -> dict[TopicPartition, list[ConsumerRecord[Any, Any]]]:
        """Return records by partition, as soon as there are any.

        Args:
            partitions: of these partitions only. Default: of all.
            timeout: seconds to wait.
            max_records: at most so many. Default: no limit.
        """
        self._begin()
        deadline = time.monotonic() + timeout
        while not self._poll.is_stopped:
            records = self._take_many(partitions, max_records) if self._may_take() else []
            if records:
                return _by_partition(self._deliver(records))
            self._check(partitions)
            left = deadline - time.monotonic()
            if left <= 0:
                self._poll.resume()
                break
            await self._poll.wait(left)
        return {}

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Set a partition's position."""
        self.forget(partition)
        self._poll.change(lambda: self._engine.seek(*partition, offset))
        self._consumed[partition] = offset

    async def settle(self) -> None:
        """Wait until the core has taken over the changes of the subscription."""
        await self._poll.settle()

    def forget(self, partition: TopicPartition) -> None:
        """Forget the records and the position of a partition, whose position changes."""
        self._held.drop(partition)
        self._poll.forget_errors(partition)
        self._make_room(partition)
        self._consumed.pop(partition, None)
        self.in_process = [r for r in self.in_process if (r.topic, r.partition) != partition]
        self._poll.resume()

    def forget_all(self) -> None:
        """Forget all records and positions at the end of an assignment."""
        self._held.clear()
        self._poll.forget_errors()
        self._full.clear()
        self._paused.clear()
        self._consumed.clear()
        self.in_process = ()

    def keep_only(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Forget the records and positions of all other partitions."""
        kept = set(partitions)
        for partition in self._held.partitions():
            if partition not in kept:
                self._held.drop(partition)
        self._paused &= kept
        self._full &= kept
        self._consumed = {item: at for item, at in self._consumed.items() if item in kept}
        self.in_process = [r for r in self.in_process if (r.topic, r.partition) in kept]

    def pause(self, partition: TopicPartition) -> None:
        """Stop returning records of a partition."""
        self._poll.change(lambda: self._engine.pause(partition))
        self._paused.add(partition)

    def resume(self, partition: TopicPartition) -> None:
        """Return records of a partition again."""
        if partition not in self._full:
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
        """Return the offsets of the next records that this holds, by partition."""
        positions = {}
        for partition in self._held.partitions():
            offset = self._held.first_offset(partition)
            if offset is not None:
                positions[partition] = offset
        return positions

    def consumed_offset(self, partition: TopicPartition) -> int | None:
        """Return the offset after a partition's last returned record, or None."""
        self._note_consumed()
        return self._consumed.get(partition)

    def _begin(self) -> None:
        """Take note that the application has processed the records that it got before."""
        if self.in_process:
            self._note_consumed()
            self.in_process = ()
        self._poll.last_read = time.monotonic()

    def _note_consumed(self) -> None:
        for record in self.in_process:
            self._consumed[record.topic, record.partition] = record.offset + 1

    def _check(self, partitions: Sequence[TopicPartition]) -> None:
        if self._poll.is_stopped:
            raise ConsumerStoppedError
        self._poll.check_error(partitions)

    def _may_take(self) -> bool:
        return self._poll.is_current and not self.is_blocked

    def _take_one(self, partitions: Sequence[TopicPartition]) -> Record | None:
        if not partitions and not self._held:
            try:
                return self._pop()
            except ottla_errors.ClosedError as error:
                raise ConsumerStoppedError from error
            except ottla_errors.KafkaError as error:
                raise peer_error(error) from error
        records = self._take_many(partitions, 1)
        return records[0] if records else None

    def _take_many(
        self, partitions: Sequence[TopicPartition], max_records: int | None
    ) -> list[Record]:
        taken = self._take_held(partitions, max_records) if self._held else []
        while max_records is None or len(taken) < max_records:
            left = None if max_records is None else max_records - len(taken)
            records = self._pop_many(left if not partitions else LIMIT)
            if not records:
                break
            if not partitions:
                taken += records
                break
            self._hold(records, partitions)
            taken += self._take_held(partitions, left)
        return taken

    def _pop_many(self, max_records: int | None) -> list[Record]:
        try:
            return self._engine._pop_records(max_records or _ALL) or []  # noqa: SLF001
        except ottla_errors.ClosedError as error:
            raise ConsumerStoppedError from error
        except ottla_errors.KafkaError as error:
            raise peer_error(error) from error

    def _take_held(
        self, partitions: Sequence[TopicPartition], max_records: int | None
    ) -> list[Record]:
        taken = self._held.take(partitions, self._paused, max_records)
        for partition in list(self._full):
            if not self._held.count(partition):
                self._make_room(partition)
        return taken

    def _hold(self, records: Iterable[Record], wanted: Sequence[TopicPartition]) -> None:
        """Hold records, and pause partitions of which enough are held and none are wanted."""
        self._held.add(records)
        for partition in self._held.partitions():
            if (
                partition not in wanted
                and partition not in self._full
                and self._held.count(partition) >= LIMIT
            ):
                self._full.add(partition)
                self._engine.pause(partition)

    def _make_room(self, partition: TopicPartition) -> None:
        """Let the core return records of a partition again, unless the application paused it."""
        if partition not in self._full:
            return
        self._full.discard(partition)
        if partition not in self._paused:
            try:
                self._engine.resume(partition)
            except ottla_errors.StateError as error:
                raise IllegalStateError(str(error)) from error

    def _deliver(self, records: list[Record]) -> list[ConsumerRecord[Any, Any]]:
        """Convert records for the application; if that fails, they are the next ones again."""
        convert = self._convert
        try:
            converted = [convert(record) for record in records]
        except BaseException:
            self._held.put_back(records)
            raise
        self.in_process = records
        return converted


def _by_partition(
    records: list[ConsumerRecord[Any, Any]],
) -> dict[TopicPartition, list[ConsumerRecord[Any, Any]]]:
    batches: dict[TopicPartition, list[ConsumerRecord[Any, Any]]] = {}
    topic, number, append = "", -1, None
    for record in records:
        if append is None or record.partition != number or record.topic != topic:
            topic, number = record.topic, record.partition
            append = batches.setdefault(TopicPartition(topic, number), []).append
        append(record)
    return batches
