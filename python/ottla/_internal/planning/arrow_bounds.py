"""Bounds of a filter that pyarrow evaluates.

pyarrow shows no parts of an expression, but its datasets skip fragments whose partition expression
excludes a filter. So this asks for fragments that do not exist which of them a filter would read.
Invariant: bounds exclude no row that matches; where pyarrow cannot tell, there is no bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

from ottla._internal.planning.offset_range import INT64_MAX, OffsetRange
from ottla._internal.planning.read_bounds import ReadBounds

_TIMESTAMP = pa.timestamp("us", "UTC")
_FORMAT = ds.IpcFileFormat()
# The largest multiple of a millisecond that the column can have.
_MAX_MS = INT64_MAX // 1000


def filter_bounds(
    expression: ds.Expression, schema: pa.Schema, ranges: Iterable[OffsetRange]
) -> tuple[list[OffsetRange], ReadBounds]:
    """Return the ranges of partitions that can match, and bounds for their offsets and times.

    Args:
        expression: the filter.
        schema: the columns that it refers to.
        ranges: the ranges to read.
    """
    names, text = schema.names, str(expression)
    whole = list(ranges)
    in_partitions = [_partition_of(one, names) for one in whole]
    matching = _matching(expression, schema, in_partitions)
    kept = [one for index, one in enumerate(whole) if index in matching]
    bounds = ReadBounds()
    if not kept:
        return [], bounds

    def can_match(guarantee: ds.Expression) -> bool:
        return bool(_matching(expression, schema, [guarantee]))

    if "offset" in names and "offset" in text:
        offset, lowest = ds.field("offset"), min(one.start for one in kept)
        highest = max(one.end for one in kept)
        low = _last(lambda at: not can_match(offset < _int64(at)), lowest, highest)
        high = _last(lambda at: can_match(offset >= _int64(at)), low, highest)
        bounds &= ReadBounds(min_offset=low, max_offset=high)
    if "timestamp" in names and "timestamp" in text:
        timestamp = ds.field("timestamp")
        earliest = _last(
            lambda at: not can_match((timestamp < _time(at)) | timestamp.is_null()), 0, _MAX_MS
        )
        # As for filters of Spark, brokers look up no times before 1970.
        if earliest > 1:
            bounds &= ReadBounds(min_timestamp=earliest - 1)
    return kept, bounds


def _last(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the last number up to ``high`` at which something holds, which it does up to there.

    ``low`` if it holds nowhere.
    """
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _partition_of(one: OffsetRange, names: list[str]) -> ds.Expression:
    guarantee = pa.compute.scalar(True)
    if "topic" in names:
        guarantee &= ds.field("topic") == one.topic
    if "partition" in names:
        guarantee &= ds.field("partition") == pa.scalar(one.partition, pa.int32())
    return guarantee


def _matching(
    expression: ds.Expression, schema: pa.Schema, guarantees: list[ds.Expression]
) -> set[int]:
    """Return the indexes of the guarantees under which a row can match."""
    files = LocalFileSystem()
    fragments = [
        _FORMAT.make_fragment(str(index), filesystem=files, partition_expression=guarantee)
        for index, guarantee in enumerate(guarantees)
    ]
    dataset = ds.FileSystemDataset(fragments, schema, _FORMAT, files)
    return {int(fragment.path) for fragment in dataset.get_fragments(expression)}


def _int64(value: int) -> pa.Scalar:
    return pa.scalar(value, pa.int64())


def _time(milliseconds: int) -> pa.Scalar:
    return pa.scalar(milliseconds * 1000, _TIMESTAMP)
