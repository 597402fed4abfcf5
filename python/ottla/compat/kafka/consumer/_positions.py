"""The calls of a consumer that move its positions, or pause partitions.

Invariant: a seek takes effect at once, and drops what was fetched for the partition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ottla.compat.kafka._errors import translating
from ottla.compat.kafka.consumer._lookups import Lookups, check_partitions
from ottla.compat.kafka.structs import TopicPartition

__all__ = ["Positions"]


class Positions(Lookups):
    """The methods; ``KafkaConsumer`` has the attributes."""

    def seek(self, partition: TopicPartition, offset: Any) -> None:
        """Set a partition's position."""
        if not isinstance(partition, TopicPartition):
            raise TypeError("partition must be a TopicPartition namedtuple")
        if not isinstance(offset, int) or offset < 0:
            raise ValueError("Offset must be int >= 0")
        if partition not in self.assignment():
            raise ValueError("Unassigned partition")
        with translating():
            self._consumer.seek(partition.topic, partition.partition, offset)

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Continue at the first records. Default: of all assigned partitions."""
        self._seek_to(self._consumer.seek_to_beginning, partitions)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Continue after the last records. Default: of all assigned partitions."""
        self._seek_to(self._consumer.seek_to_end, partitions)

    def _seek_to(self, move: Callable[..., None], partitions: tuple[TopicPartition, ...]) -> None:
        check_partitions(partitions)
        assigned = self.assignment()
        wanted = partitions or tuple(assigned)
        if not wanted:
            raise ValueError("No partitions are currently assigned")
        for partition in wanted:
            if partition not in assigned:
                raise ValueError(f"Unassigned partition: {partition}")
        with translating():
            move(*wanted)

    def pause(self, *partitions: TopicPartition) -> None:
        """Stop returning records of partitions."""
        check_partitions(partitions)
        if partitions:
            with translating():
                self._consumer.pause(*partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Resume returning records of partitions."""
        check_partitions(partitions)
        if partitions:
            with translating():
                self._consumer.resume(*partitions)

    def paused(self) -> set[TopicPartition]:
        """Return the paused partitions."""
        return {TopicPartition(*each) for each in self._consumer.paused()}
