"""A range of offsets of one partition: the unit that planners plan and tasks read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.spark.protocols import TopicPartition


@dataclass(frozen=True)
class OffsetRange:
    """The offsets of one partition from ``start`` up to, but excluding, ``end``.

    ``leader`` is the address (``host:port``) of the partition's leader at planning time: only a
    hint, which saves a bootstrap. ``from_earliest`` says that the read starts wherever the log
    starts when its task begins, so records deleted before then are no data loss.
    """

    topic: str
    partition: int
    start: int
    end: int
    leader: str | None = None
    from_earliest: bool = False

    @property
    def size(self) -> int:
        """The number of offsets.

        A compacted or transactional topic has fewer records than offsets.
        """
        return self.end - self.start

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition that the range belongs to."""
        return self.topic, self.partition
