"""Bounds that the filters of a query set on topics, partitions, offsets and times.

Filters are named by Spark's classes (``EqualTo``, ``In`` …). Invariant: bounds exclude no row that
matches. A filter that they do not implement exactly has to be applied to the rows as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from ottla._internal.planning.offset_range import INT64_MAX, OffsetRange, TopicPartition

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

LookUp = Callable[[Mapping[TopicPartition, int]], Mapping[TopicPartition, int]]
"""Look up the first offsets at or after timestamps; -1 where no record is that late."""


@dataclass(frozen=True)
class ReadBounds:
    """Bounds that all matching rows are within."""

    predicates: tuple[tuple[str, str, Any], ...] = ()
    """Predicates on topic or partition: column, operator, value."""
    min_offset: int = 0
    max_offset: int = INT64_MAX
    min_timestamp: int | None = None
    """Milliseconds since 1970; None without a bound."""

    def clip(self, whole: OffsetRange) -> OffsetRange | None:
        """Return the part of a range within the bounds; None if it is empty."""
        row = {"topic": whole.topic, "partition": whole.partition}
        if not all(_COMPARE[name](row[column], v) for column, name, v in self.predicates):
            return None
        start = max(whole.start, self.min_offset)
        end = min(whole.end, self.max_offset + 1)
        return replace(whole, start=start, end=end) if start < end else None

    def __and__(self, other: ReadBounds) -> ReadBounds:
        """Return the bounds of rows that are within both."""
        timestamps = [t for t in (self.min_timestamp, other.min_timestamp) if t is not None]
        return ReadBounds(
            self.predicates + other.predicates,
            max(self.min_offset, other.min_offset),
            min(self.max_offset, other.max_offset),
            max(timestamps, default=None),
        )


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "EqualTo": lambda a, b: a == b,
    "EqualNullSafe": lambda a, b: a == b,
    "GreaterThan": lambda a, b: a > b,
    "GreaterThanOrEqual": lambda a, b: a >= b,
    "LessThan": lambda a, b: a < b,
    "LessThanOrEqual": lambda a, b: a <= b,
    "In": lambda a, b: a in b,
    "StringStartsWith": lambda a, b: a.startswith(b),
    "StringEndsWith": lambda a, b: a.endswith(b),
    "StringContains": lambda a, b: b in a,
}


def narrow(
    bounds: ReadBounds, column: str, operator: str, value: Any
) -> tuple[ReadBounds, bool] | None:
    """Return bounds with one more filter, and whether they implement it exactly.

    None if the filter sets no bounds.
    """
    if column in ("topic", "partition") and operator in _COMPARE and value is not None:
        predicate = (column, operator, tuple(value) if operator == "In" else value)
        return replace(bounds, predicates=(*bounds.predicates, predicate)), True
    if column == "offset" and isinstance(value, int):
        return _narrow_offsets(bounds, operator, value)
    if column == "timestamp" and isinstance(value, datetime) and value.tzinfo is not None:
        return _narrow_timestamps(bounds, operator, value)
    return None


def within_bounds(
    ranges: Iterable[OffsetRange], bounds: ReadBounds, look_up: LookUp
) -> list[OffsetRange]:
    """Return the parts of ranges within the bounds, after looking up their timestamps."""
    clipped = [part for one in ranges if (part := bounds.clip(one)) is not None]
    if bounds.min_timestamp is None or not clipped:
        return clipped
    first = look_up({one.topic_partition: bounds.min_timestamp for one in clipped})
    return [
        replace(one, start=min(max(one.start, first[one.topic_partition]), one.end))
        for one in clipped
        if first[one.topic_partition] >= 0
    ]


def _narrow_offsets(
    bounds: ReadBounds, operator: str, value: int
) -> tuple[ReadBounds, bool] | None:
    minimum, maximum = {
        "EqualTo": (value, value),
        "EqualNullSafe": (value, value),
        "GreaterThan": (value + 1, INT64_MAX),
        "GreaterThanOrEqual": (value, INT64_MAX),
        "LessThan": (0, value - 1),
        "LessThanOrEqual": (0, value),
    }.get(operator, (None, None))
    if minimum is None or maximum is None:
        return None
    return bounds & ReadBounds(min_offset=minimum, max_offset=maximum), True


def _narrow_timestamps(
    bounds: ReadBounds, operator: str, value: datetime
) -> tuple[ReadBounds, bool] | None:
    # Timestamps need not increase with offsets. A broker returns the first record at or after a
    # timestamp, but later records may be older: this is only a lower bound, and not exact.
    if operator not in ("EqualTo", "EqualNullSafe", "GreaterThan", "GreaterThanOrEqual"):
        return None
    minimum = (value - _EPOCH) // timedelta(milliseconds=1) - 1
    if minimum <= 0:
        # Records may be older than 1970, but brokers look up no such timestamps: no bound.
        return bounds, False
    return bounds & ReadBounds(min_timestamp=minimum), False
