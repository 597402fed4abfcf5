"""The calls of ``AIOKafkaConsumer`` about positions: where it reads on, and where a log ends.

Invariant: a call for a partition that is not assigned raises an exception at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import ottla
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._error_mapping import peer_error
from ottla.compat.aiokafka.consumer._commits import ConsumerCommits
from ottla.compat.aiokafka.errors import IllegalStateError
from ottla.compat.aiokafka.structs import TopicPartition

__all__ = ["ConsumerPositions"]


class ConsumerPositions(ConsumerCommits):
    """The base of ``AIOKafkaConsumer`` with its positions."""

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
