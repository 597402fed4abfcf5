"""The calls of ``AIOKafkaConsumer`` that commit offsets to its group.

Invariant: a commit without offsets covers returned records only, also while others are held.
"""

from __future__ import annotations

import ottla
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._error_mapping import commit_error, translated
from ottla.compat.aiokafka.consumer._auto_commit import positions
from ottla.compat.aiokafka.consumer._base import ConsumerBase
from ottla.compat.aiokafka.errors import CommitFailedError, IllegalOperation, IllegalStateError
from ottla.compat.aiokafka.structs import OffsetAndMetadata, TopicPartition
from ottla.compat.aiokafka.util import commit_structure_validate

__all__ = ["ConsumerCommits"]


class ConsumerCommits(ConsumerBase):
    """The base of ``AIOKafkaConsumer`` with its commits."""

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
                known = await positions(self._engine, self._reader(), self._subscription)
                if not known:
                    raise CommitFailedError("a rebalance has begun")
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

    def _require_group(self) -> None:
        if self._group_id is None:
            raise IllegalOperation("Requires group_id")
