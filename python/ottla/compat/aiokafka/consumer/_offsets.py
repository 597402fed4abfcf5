"""The calls of ``AIOKafkaConsumer`` about offsets: positions, commits, seeks and look-ups.

Invariant: each raises aiokafka's exceptions. A call for a partition that is not assigned raises
``IllegalStateError`` at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import ottla
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._error_mapping import commit_error, peer_error, translated
from ottla.compat.aiokafka.consumer._auto_commit import positions
from ottla.compat.aiokafka.errors import (
    IllegalOperation,
    IllegalStateError,
    KafkaTimeoutError,
    UnknownTopicOrPartitionError,
)
from ottla.compat.aiokafka.structs import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition
from ottla.compat.aiokafka.util import commit_structure_validate

if TYPE_CHECKING:
    from ottla.compat.aiokafka.consumer._fetcher import Fetcher
    from ottla.compat.aiokafka.consumer._subscription_state import SubscriptionState

__all__ = ["ConsumerOffsets"]

T = TypeVar("T")


class ConsumerOffsets:
    """The base of ``AIOKafkaConsumer`` with its calls about offsets."""

    _engine: ottla.AsyncConsumer
    _fetcher: Fetcher | None
    _subscription: SubscriptionState
    _group_id: str | None
    _isolation_level: str
    _request_timeout_ms: int

    async def commit(
        self,
        offsets: dict[TopicPartition, int | tuple[int, str] | OffsetAndMetadata] | None = None,
    ) -> None:
        """Commit offsets to the group.

        Args:
            offsets: the offset of the next record, or a pair of it and metadata, by partition.
                Default: the positions of all assigned partitions.

        Raises:
            CommitFailedError: the group has rebalanced; others may read the partitions.
            IllegalOperation: there is no group.
            IllegalStateError: a partition is not assigned.
            KafkaError: a broker refused the commit.
            ValueError: the offsets have another form.
        """
        self._require_group()
        subscription = self._subscription.subscription
        if subscription is None:
            raise IllegalStateError("Not subscribed to any topics")
        assignment = subscription.assignment
        if assignment is None:
            raise IllegalStateError("No partitions assigned")
        validated: dict[tuple[str, int], int | ottla.OffsetAndMetadata] | None = None
        if offsets is not None:
            validated = {
                partition: ottla.OffsetAndMetadata(*item)
                for partition, item in commit_structure_validate(offsets).items()
            }
            for partition in validated:
                if partition not in assignment:
                    raise IllegalStateError(f"Partition {partition} is not assigned")
        held = self._reader().held_positions()
        try:
            if validated is None and held:
                # Records are held for which the core's position is ahead.
                known = await positions(self._engine, self._reader(), assignment)
                validated = dict(known.items())
            await self._engine.commit(validated)
        except ottla_errors.KafkaError as error:
            raise commit_error(error) from error

    async def committed(self, partition: TopicPartition) -> int | None:
        """Return the offset that the group has committed for a partition; None without one.

        Raises:
            IllegalOperation: there is no group.
        """
        self._require_group()
        self._reader()
        offsets = await translated(self._engine.committed(partition))
        item = offsets.get(partition)
        return None if item is None else item.offset

    async def position(self, partition: TopicPartition) -> int:
        """Return the offset of the next record of a partition, once it is known.

        Raises:
            IllegalStateError: the partition is not assigned.
        """
        reader = self._reader()
        while True:
            self._require_assigned([partition])
            held = reader.held_position(partition)
            if held is not None:
                return held
            await reader.settle()
            change: asyncio.Future[Any] = self._subscription.changed()
            call: asyncio.Future[int] = asyncio.ensure_future(
                self._engine.position(*partition, timeout=self._request_timeout_ms / 1000)
            )
            await asyncio.wait({call, change}, return_when=asyncio.FIRST_COMPLETED)
            if call.done():
                try:
                    return call.result()
                except ottla_errors.TimeoutError:
                    continue
                except ottla_errors.StateError:
                    pass  # The assignment has changed.
                except ottla_errors.KafkaError as error:
                    raise peer_error(error) from error
            call.cancel()
            if self._subscription.subscription is None:
                raise IllegalStateError(f"Partition {partition} is not assigned")
            await self._subscription.wait_for_assignment()

    def highwater(self, partition: TopicPartition) -> int | None:
        """Return the offset of the next record to be written, as of the last fetch; or None."""
        watermarks = self._watermarks(partition)
        return None if watermarks is None else watermarks.high_watermark

    def last_stable_offset(self, partition: TopicPartition) -> int | None:
        """Return the last stable offset as of the last fetch, or None.

        It is -1 with the isolation level ``read_uncommitted``.
        """
        watermarks = self._watermarks(partition)
        if watermarks is None:
            return None
        return -1 if self._isolation_level == "read_uncommitted" else watermarks.last_stable_offset

    def last_poll_timestamp(self, partition: TopicPartition) -> int | None:
        """Return when the two offsets above were last known to be right, in ms since 1970."""
        return None if self._watermarks(partition) is None else int(time.time() * 1000)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Set a partition's position.

        Raises:
            ValueError: the offset is no positive integer.
            IllegalStateError: the partition is not assigned.
        """
        if not isinstance(offset, int) or offset < 0:  # type: ignore[redundant-expr]
            raise ValueError("Offset must be a positive integer")
        self._require_assigned([partition])
        try:
            self._reader().seek(partition, offset)
        except ottla_errors.KafkaError as error:
            raise peer_error(error) from error

    async def seek_to_beginning(self, *partitions: TopicPartition) -> bool:
        """Continue at the first record; return whether the positions are known in time.

        Args:
            partitions: default: all assigned partitions.

        Raises:
            IllegalStateError: a partition is not assigned.
            TypeError: a partition is no ``TopicPartition``.
        """
        self._reader()
        return await self._seek(self._engine.seek_to_beginning, partitions)

    async def seek_to_end(self, *partitions: TopicPartition) -> bool:
        """Continue after the last record; see ``seek_to_beginning``."""
        self._reader()
        return await self._seek(self._engine.seek_to_end, partitions)

    async def seek_to_committed(
        self, *partitions: TopicPartition
    ) -> dict[TopicPartition, int | None]:
        """Continue at the committed offsets, and return them.

        Args:
            partitions: default: all assigned partitions.

        Raises:
            IllegalOperation: there is no group.
            IllegalStateError: a partition is not assigned.
        """
        listed = self._listed(partitions)
        committed = {}
        for partition in listed:
            offset = await self.committed(partition)
            committed[partition] = offset
            if offset is not None:
                self.seek(partition, offset)
        return committed

    async def offsets_for_times(
        self, timestamps: dict[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Look up the first record at or after a time, by partition.

        Args:
            timestamps: milliseconds since 1970, by partition.

        Raises:
            ValueError: a time is negative.
            KafkaTimeoutError: the partitions were not found in time.
        """
        for partition, timestamp in timestamps.items():
            if timestamp < 0:
                raise ValueError(f"the time for {partition} is negative: {timestamp}")
        times: dict[tuple[str, int], int] = {
            partition: int(time) for partition, time in timestamps.items()
        }
        if not times:
            return {}
        found = await self._look_up(lambda: self._engine.offsets_for_times(times))
        return {
            TopicPartition(*partition): None
            if item is None or item.offset is None
            else OffsetAndTimestamp(item.offset, item.timestamp)
            for partition, item in found.items()
        }

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Look up the offset of the first record, by partition.

        Raises:
            KafkaTimeoutError: the partitions were not found in time.
        """
        return await self._bounds(self._engine.beginning_offsets, partitions)

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Look up the offset of the next record to be written, by partition.

        Raises:
            KafkaTimeoutError: the partitions were not found in time.
        """
        return await self._bounds(self._engine.end_offsets, partitions)

    def _reader(self) -> Fetcher:
        """Return what reads, once the consumer is started."""
        if self._fetcher is None:
            raise IllegalStateError("the consumer is not started: await start() first")
        return self._fetcher

    def _require_group(self) -> None:
        if self._group_id is None:
            raise IllegalOperation("Requires group_id")

    def _require_assigned(self, partitions: Iterable[TopicPartition]) -> None:
        missing = set(partitions) - self._subscription.assigned_partitions()
        if missing:
            raise IllegalStateError(f"Partitions {missing} are not assigned")

    def _listed(self, partitions: tuple[TopicPartition, ...]) -> list[TopicPartition]:
        """Return the partitions, by default all assigned ones."""
        if not all(isinstance(partition, TopicPartition) for partition in partitions):
            raise TypeError("partitions must be TopicPartition instances")
        if partitions:
            self._require_assigned(partitions)
            return list(partitions)
        assigned = self._subscription.assigned_partitions()
        if not assigned:
            raise AssertionError("No partitions are currently assigned")
        return sorted(assigned)

    def _watermarks(self, partition: TopicPartition) -> ottla.Watermarks | None:
        if not self._subscription.is_assigned(partition):
            raise AssertionError("Partition is not assigned")
        self._reader()
        return self._engine.watermarks().get(partition)

    async def _seek(
        self, seek: Callable[..., None], partitions: tuple[TopicPartition, ...]
    ) -> bool:
        listed = self._listed(partitions)
        for partition in listed:
            self._reader().forget(partition)
        try:
            await self._reader().settle()
            seek(*listed)
        except ottla_errors.KafkaError as error:
            raise peer_error(error) from error
        calls = [asyncio.ensure_future(self.position(partition)) for partition in listed]
        _, pending = await asyncio.wait(calls, timeout=self._request_timeout_ms / 1000)
        for call in pending:
            call.cancel()
        for call in calls:
            if call.done() and not call.cancelled():
                call.exception()  # A partition that is gone is no error of a seek.
        return not pending

    async def _bounds(
        self,
        look_up: Callable[..., Awaitable[dict[tuple[str, int], int]]],
        partitions: Iterable[TopicPartition],
    ) -> dict[TopicPartition, int]:
        listed = list(partitions)
        if not listed:
            return {}
        found = await self._look_up(lambda: look_up(*listed))
        return {TopicPartition(*partition): offset for partition, offset in found.items()}

    async def _look_up(self, call: Callable[[], Awaitable[T]]) -> T:
        """Wait for a look-up, also for a partition that does not exist yet, as aiokafka does."""
        self._reader()
        deadline = time.monotonic() + self._request_timeout_ms / 1000
        while True:
            try:
                return await translated(call())
            except UnknownTopicOrPartitionError as error:
                if time.monotonic() >= deadline:
                    raise KafkaTimeoutError(str(error)) from error
                await asyncio.sleep(1)
