"""Packs small ranges into shared tasks: a task costs more than reading a few records.

Called by the planners on the driver; pure except for the size estimate. Invariant: each range is in
exactly one task; the options that limit a task's size and the number of tasks also hold for tasks
of several ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ottla._internal.planning.offset_range import OffsetRange
from ottla._internal.planning.range_splitting import split_range
from ottla.spark.options.read_options import CommonOptions
from ottla.spark.protocols import TopicPartition

# Packing leaves at least this many tasks, or one per range if there are fewer: processing after the
# read may be expensive, and should use all cores.
MIN_TASKS = 64
# Reading this much costs less than starting a task.
MAX_PACKED_OFFSETS = 2_000
MAX_PACKED_BYTES = 1 << 20

TaskRanges = tuple[OffsetRange, ...]
"""The ranges that one task reads."""

BytesPerOffset = Mapping[TopicPartition, float]
SizeEstimate = Callable[[Iterable[OffsetRange]], BytesPerOffset]


@dataclass(frozen=True)
class _TaskLimits:
    """The limits of a task with several ranges."""

    offsets: float
    bytes: float

    def allow(self, offsets: float, size: float) -> bool:
        return offsets <= self.offsets and size <= self.bytes


def pack_ranges(
    ranges: list[OffsetRange], common: CommonOptions, estimate: SizeEstimate
) -> list[TaskRanges]:
    """Return the tasks that read these ranges.

    With ``targetBytesPerPartition``, large ranges are split and small ones packed into tasks of
    about that size. Otherwise small ranges are packed only if there are more than ``MIN_TASKS``.
    ``minPartitions`` disables packing, and ``maxRecordsPerPartition`` limits every task.
    """
    target = common.target_bytes_per_partition
    max_records = common.max_records_per_partition
    if target is not None:
        sizes = estimate(ranges)
        parts = _split_to_size(ranges, sizes, target)
        if common.min_partitions is not None:
            return [(part,) for part in parts]
        return _pack_by_leader(parts, sizes, _TaskLimits(max_records or float("inf"), target))
    if common.min_partitions is not None or max_records is not None or len(ranges) <= MIN_TASKS:
        return [(one,) for one in ranges]
    # Tasks of at most the mean size of MIN_TASKS tasks are at least MIN_TASKS.
    mean = sum(one.size for one in ranges) / MIN_TASKS
    limits = _TaskLimits(min(MAX_PACKED_OFFSETS, mean), MAX_PACKED_BYTES)
    # Estimate sizes only if at least two ranges could share a task.
    if sum(one.size < limits.offsets for one in ranges) < 2:
        return [(one,) for one in ranges]
    return _pack_by_leader(ranges, estimate(ranges), limits)


def _split_to_size(
    ranges: Iterable[OffsetRange], sizes: BytesPerOffset, target: int
) -> list[OffsetRange]:
    parts: list[OffsetRange] = []
    for one in ranges:
        count = -(-one.size * sizes[one.topic_partition] // target)
        parts += split_range(one, min(max(int(count), 1), one.size))
    return parts


@dataclass
class _OpenTask:
    """A task that can take more ranges."""

    ranges: list[OffsetRange]
    offsets: float
    bytes: float


def _pack_by_leader(
    ranges: list[OffsetRange], sizes: BytesPerOffset, limits: _TaskLimits
) -> list[TaskRanges]:
    tasks: list[TaskRanges] = []
    # One request can read all ranges that have the same leader.
    open_by_leader: dict[str | None, _OpenTask] = {}
    for one in ranges:
        size = one.size * sizes[one.topic_partition]
        task = open_by_leader.get(one.leader)
        if task is not None and limits.allow(task.offsets + one.size, task.bytes + size):
            task.ranges.append(one)
            task.offsets += one.size
            task.bytes += size
        elif task is None or one.size < task.offsets:
            # Keep the smaller of the two open: it can take more.
            open_by_leader[one.leader] = _OpenTask([one], one.size, size)
            if task is not None:
                tasks.append(tuple(task.ranges))
        else:
            tasks.append((one,))
    tasks += [tuple(task.ranges) for task in open_by_leader.values()]
    return tasks
