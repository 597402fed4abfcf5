"""How far a micro-batch goes: what there is, cut to the limits of the options.

Called by ``stream_planner``; pure but for the clock that is given. Invariant: an end returned lies
between its start and what the log holds, and where there is something to read, some partition
advances unless the batch is delayed on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, floor

from ottla.spark.protocols import TopicPartition

Offsets = Mapping[TopicPartition, int]


def sizes(start: Offsets, newest: Offsets) -> dict[TopicPartition, int]:
    """How many offsets there are to read, of the partitions that have any."""
    ahead = {partition: end - start.get(partition, end) for partition, end in newest.items()}
    return {partition: size for partition, size in ahead.items() if size > 0}


def at_most_offsets(start: Offsets, newest: Offsets, limit: int) -> dict[TopicPartition, int]:
    """So many offsets in all, each partition in proportion to what it has, as Spark's source does.

    None starves: where its share is less than one offset it is one, so that the sum may be larger
    than the limit by the number of partitions.
    """
    there = sizes(start, newest)
    total = sum(there.values())
    return _advanced(start, newest, {p: limit * (size / total) for p, size in there.items()})


def at_most_bytes(
    start: Offsets, newest: Offsets, limit: int, per_offset: Mapping[TopicPartition, float]
) -> dict[TopicPartition, int]:
    """So many bytes in all, by an estimate of the bytes of each partition's records."""
    there = sizes(start, newest)
    total = sum(size * per_offset[p] for p, size in there.items())
    if total <= limit:
        return dict(newest)
    return _advanced(start, newest, {p: limit * (size / total) for p, size in there.items()})


class Delay:
    """Holds batches back until there is enough (``minOffsetsPerTrigger``), but not for too long."""

    def __init__(self, least: int, longest: float, clock: Callable[[], float]) -> None:
        self._least = least
        self._longest = longest
        self._clock = clock
        self._last: float | None = None

    def holds_back(self, start: Offsets, newest: Offsets) -> bool:
        """Whether this trigger is to be passed over; the first never is."""
        now = self._clock()
        is_due = self._last is None or now - self._last >= self._longest
        if not is_due and sum(sizes(start, newest).values()) < self._least:
            return True
        self._last = now
        return False


def _advanced(
    start: Offsets, newest: Offsets, shares: Mapping[TopicPartition, float]
) -> dict[TopicPartition, int]:
    ends = dict(newest)
    for partition, share in shares.items():
        step = ceil(share) if share < 1 else floor(share)
        ends[partition] = min(newest[partition], start[partition] + step)
    return ends
