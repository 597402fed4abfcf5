"""Admission control: how far a micro-batch goes, within the limits of the options.

Called by ``stream_planner``; pure except for its clock. Invariant: an end is between the start and
the log's end, and if there is anything to read, some partition advances unless the batch is delayed
on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, floor

from ottla.spark.protocols import TopicPartition

Offsets = Mapping[TopicPartition, int]


def available_offsets(start: Offsets, latest: Offsets) -> dict[TopicPartition, int]:
    """Return the number of offsets to read, for partitions that have any."""
    ahead = {partition: end - start.get(partition, end) for partition, end in latest.items()}
    return {partition: size for partition, size in ahead.items() if size > 0}


def limit_offsets(start: Offsets, latest: Offsets, limit: int) -> dict[TopicPartition, int]:
    """Return ends with ``limit`` offsets in all, shared in proportion as by Spark's source.

    A share below one offset is rounded up to one, so that no partition starves. The sum may
    therefore exceed the limit by up to the number of partitions.
    """
    available = available_offsets(start, latest)
    total = sum(available.values())
    return _advance(start, latest, {p: limit * (size / total) for p, size in available.items()})


def limit_bytes(
    start: Offsets, latest: Offsets, limit: int, bytes_per_offset: Mapping[TopicPartition, float]
) -> dict[TopicPartition, int]:
    """Return ends with ``limit`` bytes in all, by an estimate of each partition's record size."""
    available = available_offsets(start, latest)
    total = sum(size * bytes_per_offset[p] for p, size in available.items())
    if total <= limit:
        return dict(latest)
    return _advance(start, latest, {p: limit * (size / total) for p, size in available.items()})


class TriggerDelay:
    """Delays batches until there are ``minOffsetsPerTrigger`` offsets.

    Args:
        min_offsets: the number of offsets to wait for.
        max_delay: seconds after which a batch runs with fewer.
        clock: returns seconds, as ``time.monotonic`` does.
    """

    def __init__(self, min_offsets: int, max_delay: float, clock: Callable[[], float]) -> None:
        self._min_offsets = min_offsets
        self._max_delay = max_delay
        self._clock = clock
        self._last: float | None = None

    def should_delay(self, start: Offsets, latest: Offsets) -> bool:
        """Whether this trigger should run no batch; the first trigger is never delayed."""
        now = self._clock()
        is_due = self._last is None or now - self._last >= self._max_delay
        if not is_due and sum(available_offsets(start, latest).values()) < self._min_offsets:
            return True
        self._last = now
        return False


def _advance(
    start: Offsets, latest: Offsets, shares: Mapping[TopicPartition, float]
) -> dict[TopicPartition, int]:
    ends = dict(latest)
    for partition, share in shares.items():
        step = ceil(share) if share < 1 else floor(share)
        ends[partition] = min(latest[partition], start[partition] + step)
    return ends
