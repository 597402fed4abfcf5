"""From ranges to tasks: small ranges share one, since a task costs more than reading a few records.

Called by readers on the driver; pure but for the estimate of sizes that is given. Invariant: each
range is in exactly one task; what the options say of a task's size and of the number of tasks
holds for tasks of several ranges too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ottla.spark.offset_range import OffsetRange
from ottla.spark.options.read_options import SourceOptions
from ottla.spark.planning.range_splitting import cut_range
from ottla.spark.protocols import TopicPartition

# So many tasks are always left, as many as there are partitions if these are fewer: what comes
# after the read may be expensive, and wants its tasks on whatever cores there are.
TASKS_LEFT = 64
# Reading so much costs less than the task that reads it.
SMALL = 2_000
SMALL_BYTES = 1 << 20

Task = tuple[OffsetRange, ...]
Sizes = Mapping[TopicPartition, float]
Estimate = Callable[[Iterable[OffsetRange]], Sizes]


@dataclass(frozen=True)
class _Bound:
    """What ranges that share a task may be together."""

    offsets: float
    bytes: float

    def holds(self, offsets: float, size: float) -> bool:
        return offsets <= self.offsets and size <= self.bytes


def pack(ranges: list[OffsetRange], source: SourceOptions, estimate: Estimate) -> list[Task]:
    """The tasks that read these ranges.

    With ``targetBytesPerPartition`` large ranges are cut and small ones put together until tasks
    are about so large. Otherwise small ranges are put together where there are very many. With
    ``minPartitions`` nothing is put together, and ``maxRecordsPerPartition`` bounds every task.
    """
    target, most = source.target_bytes_per_partition, source.max_records_per_partition
    if target is not None:
        sizes = estimate(ranges)
        pieces = _cut_to(ranges, sizes, target)
        if source.min_partitions is not None:
            return [(piece,) for piece in pieces]
        return _together(pieces, sizes, _Bound(most or float("inf"), target))
    if source.min_partitions is not None or most is not None or len(ranges) <= TASKS_LEFT:
        return [(piece,) for piece in ranges]
    # Tasks no larger than the mean of so many are at least so many.
    mean = sum(piece.size for piece in ranges) / TASKS_LEFT
    bound = _Bound(min(SMALL, mean), SMALL_BYTES)
    # Looked for only where it can make a difference.
    if sum(piece.size < bound.offsets for piece in ranges) < 2:
        return [(piece,) for piece in ranges]
    return _together(ranges, estimate(ranges), bound)


def _cut_to(ranges: Iterable[OffsetRange], sizes: Sizes, target: int) -> list[OffsetRange]:
    pieces: list[OffsetRange] = []
    for piece in ranges:
        parts = -(-piece.size * sizes[piece.topic_partition] // target)
        pieces += cut_range(piece, min(max(int(parts), 1), piece.size))
    return pieces


@dataclass
class _Open:
    """A task that may take more ranges."""

    ranges: list[OffsetRange]
    offsets: float
    bytes: float


def _together(ranges: list[OffsetRange], sizes: Sizes, bound: _Bound) -> list[Task]:
    tasks: list[Task] = []
    # What one broker leads is one request to it.
    open_by_leader: dict[str | None, _Open] = {}
    for piece in ranges:
        size = piece.size * sizes[piece.topic_partition]
        task = open_by_leader.get(piece.leader)
        if task is not None and bound.holds(task.offsets + piece.size, task.bytes + size):
            task.ranges.append(piece)
            task.offsets += piece.size
            task.bytes += size
        elif task is None or piece.size < task.offsets:
            # Into the emptier of the two more may go.
            open_by_leader[piece.leader] = _Open([piece], piece.size, size)
            if task is not None:
                tasks.append(tuple(task.ranges))
        else:
            tasks.append((piece,))
    tasks += [tuple(task.ranges) for task in open_by_leader.values()]
    return tasks
