"""Splits offset ranges into more and smaller ones, as Spark's Kafka source does.

Called by the planners; pure. Invariant: splitting neither loses nor repeats an offset, keeps the
order of the ranges, and yields no empty range. Sizes are counted in offsets; a compacted or
transactional topic has fewer records than offsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ottla._internal.planning.offset_range import OffsetRange


def split_ranges(
    ranges: Iterable[OffsetRange],
    *,
    min_partitions: int | None = None,
    max_records_per_partition: int | None = None,
) -> list[OffsetRange]:
    """Split ranges above the maximum, then split further until there are enough.

    The count reaches ``min_partitions`` only approximately, because shares are rounded.
    """
    result = [one for one in ranges if one.size > 0]
    if max_records_per_partition is not None:
        limit = max_records_per_partition
        result = [part for one in result for part in split_range(one, -(-one.size // limit))]
    if min_partitions is None or len(result) >= min_partitions:
        return result
    return list(_split_proportionally(result, min_partitions))


def split_range(whole: OffsetRange, count: int) -> Iterator[OffsetRange]:
    """Split a range into ``count`` parts of about equal size, or fewer if it has fewer offsets."""
    start = whole.start
    for part in range(count):
        end = start + (whole.end - start) // (count - part)
        if end > start:
            yield replace(whole, start=start, end=end)
        start = end


def _split_proportionally(ranges: list[OffsetRange], count: int) -> Iterator[OffsetRange]:
    total = sum(one.size for one in ranges)
    # A range that is too small to be split takes one part whatever its share is, so neither it nor
    # its size takes part in distributing the remaining parts.
    small = [one for one in ranges if _share(one.size, total, count) == 1]
    unsplit = {one.topic_partition for one in small}
    remaining_size = total - sum(one.size for one in small)
    remaining_count = max(count - len(small), 1)
    for one in ranges:
        if one.topic_partition in unsplit:
            yield one
        else:
            yield from split_range(one, _share(one.size, remaining_size, remaining_count))


def _share(size: int, total: int, count: int) -> int:
    # Half rounds up, as in the JVM; Python's round() rounds half to even.
    return max(int(size / total * count + 0.5), 1)
