"""A range of offsets of one partition: the unit that planners plan and tasks read."""

from __future__ import annotations

from dataclasses import dataclass

INT64_MAX = 2**63 - 1

TopicPartition = tuple[str, int]
"""A topic and the number of one of its partitions."""


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
    def bounds(self) -> tuple[str, int, int, int]:
        """The topic, the partition, and the offsets: what ``Client.scan`` takes."""
        return self.topic, self.partition, self.start, self.end

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition that the range belongs to."""
        return self.topic, self.partition
