"""From ranges to tasks: small ranges share one, since a task costs more than reading a few records.

Called by readers on the driver; pure but for the estimate of sizes that is given. Invariant: each
range is in exactly one task; ranges that share a task are together no larger than the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ottla.spark.core import TopicPartition
from ottla.spark.options import SourceOptions
from ottla.spark.ranges import OffsetRange, cut_range

# Reading so many records costs less than the task that reads them. Not more, though: what comes
# after the read may be expensive, and wants its tasks.
SMALL = 2_000

Task = tuple[OffsetRange, ...]
Estimate = Callable[[Iterable[OffsetRange]], Mapping[TopicPartition, float]]


def pack(ranges: list[OffsetRange], source: SourceOptions, estimate: Estimate) -> list[Task]:
    """The tasks that read these ranges.

    With ``targetBytesPerPartition`` large ranges are cut and small ones put together until tasks
    are about so large. Otherwise small ranges are put together unless the options say into how many
    the read is to be cut.
    """
    if source.target_bytes_per_partition is not None:
        per_offset = estimate(ranges)
        target = source.target_bytes_per_partition
        return _together(_cut_to(ranges, per_offset, target), per_offset, target)
    if source.min_partitions is not None or source.max_records_per_partition is not None:
        return [(piece,) for piece in ranges]
    return _together(ranges, dict.fromkeys((r.topic_partition for r in ranges), 1.0), SMALL)


def _cut_to(
    ranges: Iterable[OffsetRange], per_offset: Mapping[TopicPartition, float], target: int
) -> list[OffsetRange]:
    pieces: list[OffsetRange] = []
    for piece in ranges:
        parts = -(-piece.size * per_offset[piece.topic_partition] // target)
        pieces += cut_range(piece, min(max(int(parts), 1), piece.size))
    return pieces


def _together(
    ranges: list[OffsetRange], weights: Mapping[TopicPartition, float], most: int
) -> list[Task]:
    tasks: list[Task] = []
    open_by_leader: dict[str | None, list[OffsetRange]] = {}
    filled: dict[str | None, float] = {}
    for piece in ranges:
        weight = piece.size * weights[piece.topic_partition]
        if weight >= most:
            tasks.append((piece,))
            continue
        # What one broker leads is one request to it.
        together = open_by_leader.setdefault(piece.leader, [])
        if together and filled[piece.leader] + weight > most:
            tasks.append(tuple(together))
            together.clear()
        filled[piece.leader] = weight + (filled[piece.leader] if together else 0.0)
        together.append(piece)
    tasks += [tuple(together) for together in open_by_leader.values() if together]
    return tasks
