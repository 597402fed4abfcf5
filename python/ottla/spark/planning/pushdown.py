"""Filter pushdown: turns filters of a batch query into bounds for the planner.

Called by ``batch_reader`` if the option ``pushFilters`` is set. Invariant: the bounds exclude no
row that matches; filters that they do not implement exactly are returned to Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ottla.spark.offset_range import OffsetRange
from ottla.spark.options.option_values import INT64_MAX

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

_NEVER_NULL = ("topic", "partition", "offset", "timestamp", "timestampType")


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


def push_filters(filters: Iterable[Filter]) -> tuple[ReadBounds, list[Filter]]:
    """Return the bounds that filters set, and the filters that Spark still has to apply."""
    bounds, remaining = ReadBounds(), []
    for one in filters:
        result = _narrow(bounds, one)
        if result is None:
            remaining.append(one)
            continue
        bounds, is_exact = result
        if not is_exact:
            remaining.append(one)
    return bounds, remaining


def _narrow(bounds: ReadBounds, one: Filter) -> tuple[ReadBounds, bool] | None:
    """Return bounds with one more filter, and whether they implement it exactly.

    None if the filter sets no bounds.
    """
    operator = type(one).__name__
    attribute: tuple[str, ...] = getattr(one, "attribute", ())
    value = getattr(one, "value", None)
    if len(attribute) != 1:
        return None
    column = attribute[0]
    if operator == "IsNotNull" and column in _NEVER_NULL:
        return bounds, True
    if column in ("topic", "partition") and operator in _COMPARE and value is not None:
        predicate = (column, operator, tuple(value) if operator == "In" else value)
        return replace(bounds, predicates=(*bounds.predicates, predicate)), True
    if column == "offset" and isinstance(value, int):
        return _narrow_offsets(bounds, operator, value)
    if column == "timestamp" and isinstance(value, datetime) and value.tzinfo is not None:
        return _narrow_timestamps(bounds, operator, value)
    return None


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
    narrowed = replace(
        bounds,
        min_offset=max(bounds.min_offset, minimum),
        max_offset=min(bounds.max_offset, maximum),
    )
    return narrowed, True


def _narrow_timestamps(
    bounds: ReadBounds, operator: str, value: datetime
) -> tuple[ReadBounds, bool] | None:
    # Timestamps need not increase with offsets. A broker returns the first record at or after a
    # timestamp, but later records may be older: this is only a lower bound, and not exact.
    if operator not in ("EqualTo", "EqualNullSafe", "GreaterThan", "GreaterThanOrEqual"):
        return None
    minimum = int(value.timestamp() * 1000) - 1
    if minimum <= 0:
        # Records may be older than 1970, but brokers look up no such timestamps: no bound.
        return bounds, False
    return replace(bounds, min_timestamp=max(bounds.min_timestamp or 0, minimum)), False
