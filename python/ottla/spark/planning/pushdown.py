"""Filters that Spark pushes into a batch read, as bounds on what is planned.

Called by ``batch_reader`` where the option ``pushFilters`` asks for it. Invariant: no row that
matches is left out; what is not settled here to the last row is left for Spark to filter again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ottla.spark.offset_range import OffsetRange
from ottla.spark.options.offset_limits import INT64_MAX

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

_NEVER_NULL = ("topic", "partition", "offset", "timestamp", "timestampType")


@dataclass(frozen=True)
class Bounds:
    """What the rows wanted have in common."""

    tests: tuple[tuple[str, str, Any], ...] = ()
    """Tests of topic or partition: column, operator, value."""
    first: int = 0
    """The lowest offset."""
    last: int = INT64_MAX
    """The highest offset."""
    since: int | None = None
    """Milliseconds since 1970 before which no record is wanted."""

    def of(self, piece: OffsetRange) -> OffsetRange | None:
        """The part of a range that holds all rows wanted, None if there are none."""
        values = {"topic": piece.topic, "partition": piece.partition}
        if not all(_COMPARE[operator](values[column], v) for column, operator, v in self.tests):
            return None
        start = max(piece.start, self.first)
        end = min(piece.end, self.last + 1)
        return replace(piece, start=start, end=end) if start < end else None


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


def push(filters: Iterable[Filter]) -> tuple[Bounds, list[Filter]]:
    """The bounds that filters set, and the filters that Spark has to apply all the same."""
    bounds, left = Bounds(), []
    for one in filters:
        narrower = _narrowed(bounds, one)
        if narrower is None:
            left.append(one)
            continue
        bounds, is_settled = narrower
        if not is_settled:
            left.append(one)
    return bounds, left


def _narrowed(bounds: Bounds, one: Filter) -> tuple[Bounds, bool] | None:
    """Bounds with one filter more, and whether it is settled by them; None if it is unknown."""
    kind = type(one).__name__
    attribute: tuple[str, ...] = getattr(one, "attribute", ())
    value = getattr(one, "value", None)
    if len(attribute) != 1:
        return None
    column = attribute[0]
    if kind == "IsNotNull" and column in _NEVER_NULL:
        return bounds, True
    if column in ("topic", "partition") and kind in _COMPARE and value is not None:
        test = (column, kind, tuple(value) if kind == "In" else value)
        return replace(bounds, tests=(*bounds.tests, test)), True
    if column == "offset" and isinstance(value, int):
        return _by_offset(bounds, kind, value)
    if column == "timestamp" and isinstance(value, datetime) and value.tzinfo is not None:
        return _by_timestamp(bounds, kind, value)
    return None


def _by_offset(bounds: Bounds, kind: str, value: int) -> tuple[Bounds, bool] | None:
    least, most = {
        "EqualTo": (value, value),
        "EqualNullSafe": (value, value),
        "GreaterThan": (value + 1, INT64_MAX),
        "GreaterThanOrEqual": (value, INT64_MAX),
        "LessThan": (0, value - 1),
        "LessThanOrEqual": (0, value),
    }.get(kind, (None, None))
    if least is None or most is None:
        return None
    return replace(bounds, first=max(bounds.first, least), last=min(bounds.last, most)), True


def _by_timestamp(bounds: Bounds, kind: str, value: datetime) -> tuple[Bounds, bool] | None:
    # Timestamps need not rise with offsets: a log tells where the first record as late is, but
    # later ones may be older. So this bounds from below alone, and Spark filters again.
    if kind not in ("EqualTo", "EqualNullSafe", "GreaterThan", "GreaterThanOrEqual"):
        return None
    since = int(value.timestamp() * 1000) - 1
    if since <= 0:
        # Records may be older than 1970, and a log looks for none that is: all may match.
        return bounds, False
    return replace(bounds, since=max(bounds.since or 0, since)), False
