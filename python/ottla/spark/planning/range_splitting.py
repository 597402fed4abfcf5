"""Split offset ranges into more and smaller ones.

Called by the planners; pure. Invariant: splitting neither loses nor repeats an offset, keeps the
order of the ranges, and yields no empty range.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ottla.spark.offset_range import OffsetRange


def split_ranges(
    ranges: Iterable[OffsetRange],
    *,
    min_partitions: int | None = None,
    max_records_per_partition: int | None = None,
) -> list[OffsetRange]:
    """Cut as Spark's Kafka source does: first no range above the maximum, then enough ranges.

    The count reaches ``min_partitions`` only roughly, for shares are rounded.
    """
    whole = [piece for piece in ranges if piece.size > 0]
    if max_records_per_partition is not None:
        limit = max_records_per_partition
        whole = [part for piece in whole for part in cut_range(piece, -(-piece.size // limit))]
    if min_partitions is None or len(whole) >= min_partitions:
        return whole
    return list(_split_in_proportion(whole, min_partitions))


def _split_in_proportion(ranges: list[OffsetRange], wanted: int) -> Iterator[OffsetRange]:
    total = sum(piece.size for piece in ranges)
    # Ranges too small to be cut take one place each whatever the arithmetic says, so neither they
    # nor their size take part in sharing out the places that are left.
    small = [piece for piece in ranges if _share(piece.size, total, wanted) == 1]
    uncut = {piece.topic_partition for piece in small}
    left = total - sum(piece.size for piece in small)
    places = max(wanted - len(small), 1)
    for piece in ranges:
        if piece.topic_partition in uncut:
            yield piece
        else:
            yield from cut_range(piece, _share(piece.size, left, places))


def _share(size: int, total: int, places: int) -> int:
    # Half rounds up, as in the JVM; Python's round() would send it to the even neighbour.
    return max(int(size / total * places + 0.5), 1)


def cut_range(piece: OffsetRange, parts: int) -> Iterator[OffsetRange]:
    """So many pieces of about the same size; fewer where there are not so many offsets."""
    start = piece.start
    for part in range(parts):
        end = start + (piece.end - start) // (parts - part)
        if end > start:
            yield replace(piece, start=start, end=end)
        start = end
