"""The calls of ``AIOKafkaConsumer`` that look up offsets of any partition."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from ottla.compat.aiokafka._error_mapping import translated
from ottla.compat.aiokafka.consumer._base import ConsumerBase
from ottla.compat.aiokafka.errors import KafkaTimeoutError, UnknownTopicOrPartitionError
from ottla.compat.aiokafka.structs import OffsetAndTimestamp, TopicPartition

__all__ = ["ConsumerLookups"]

T = TypeVar("T")


class ConsumerLookups(ConsumerBase):
    """The base of ``AIOKafkaConsumer`` with its look-ups."""

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
