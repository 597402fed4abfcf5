"""Filter pushdown: turns filters of a batch query into bounds for the planner.

Called by ``batch_reader`` if the option ``pushFilters`` is set. Invariant: the bounds exclude no
row that matches; filters that they do not implement exactly are returned to Spark.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ottla._internal.planning.read_bounds import ReadBounds, narrow

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

_NEVER_NULL = ("topic", "partition", "offset", "timestamp", "timestampType")


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
    operator = type(one).__name__
    attribute: tuple[str, ...] = getattr(one, "attribute", ())
    if len(attribute) != 1:
        return None
    if operator == "IsNotNull" and attribute[0] in _NEVER_NULL:
        return bounds, True
    return narrow(bounds, attribute[0], operator, getattr(one, "value", None))
