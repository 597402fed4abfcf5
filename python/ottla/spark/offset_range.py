"""Offset ranges, and cutting them into more and smaller ones.

Called by ``planning``; pure. Invariant: cutting neither loses nor repeats an offset, keeps the
order of the ranges given, and yields no empty range. Sizes are counted in offsets, which are more
than records where a topic is compacted or transactional.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.spark.protocols import TopicPartition


@dataclass(frozen=True)
class OffsetRange:
    """The offsets of one partition from ``start`` up to, not including, ``end``.

    ``leader`` is the address (``host:port``) of the partition's leader when the range was
    planned: a hint that saves a bootstrap, never more. ``floats``: it is of a read from wherever
    the log starts when its task gets there, so that records deleted until then are no loss.
    """

    topic: str
    partition: int
    start: int
    end: int
    leader: str | None = None
    floats: bool = False

    @property
    def size(self) -> int:
        """The number of offsets, at least that of records."""
        return self.end - self.start

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition that the range is part of."""
        return self.topic, self.partition
