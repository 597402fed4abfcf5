"""Describes a planned read: topics, offsets, columns and filters, in one line.

``read_arrow`` shows it in Spark's plan, and the batch reader logs it: Spark names the node of a
Python data source before it plans the read. Invariant: no option is part of it, so no secret; a
line has a bounded length, however many partitions there are.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import DataType, StructType

from ottla._internal.planning.offset_range import OffsetRange
from ottla.spark.planning.task_packing import TaskRanges

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

MAX_PARTITIONS = 8
MAX_COLUMNS = 12
MAX_VALUE = 40

log = logging.getLogger("ottla.spark.plan")

_SYMBOLS = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "In": "in",
    "StringStartsWith": "starts with",
    "StringEndsWith": "ends with",
    "StringContains": "contains",
}


def describe_read(
    tasks: Sequence[TaskRanges], schema: StructType, filters: Iterable[Filter] = ()
) -> str:
    """Return a line such as ``orders[0] 0..400; columns value.id; filters offset > 3``.

    Args:
        tasks: the ranges that each task reads.
        schema: the columns of the read.
        filters: the filters that Spark pushed down. Default: none.
    """
    columns = list(_leaves("", schema))
    parts = [_offsets(tasks), f"columns {_some(columns, MAX_COLUMNS)}"]
    shown = [_filter(one) for one in filters]
    if shown:
        parts.append(f"filters {_some(shown, MAX_COLUMNS)}")
    return "; ".join(parts)


def log_planned_read(
    tasks: Sequence[TaskRanges], schema: StructType, filters: Iterable[Filter] = ()
) -> None:
    """Log the description, at INFO, in a process that Spark has started to plan a read."""
    # No program can configure logging there. Only a handler that Spark installs shows it.
    if log.level == logging.NOTSET:
        log.setLevel(logging.INFO)
    if log.isEnabledFor(logging.INFO):
        log.info("planned %d tasks: %s", len(tasks), describe_read(tasks, schema, filters))


def _offsets(tasks: Sequence[TaskRanges]) -> str:
    ranges = sorted((one for task in tasks for one in task), key=lambda one: one.bounds)
    whole: list[OffsetRange] = []
    for one in ranges:
        # The parts of a range that was split.
        if (
            whole
            and whole[-1].topic_partition == one.topic_partition
            and whole[-1].end == one.start
        ):
            previous = whole.pop()
            one = OffsetRange(one.topic, one.partition, previous.start, one.end)
        whole.append(one)
    if not whole:
        return "no offsets"
    shown = [f"{one.topic}[{one.partition}] {one.start}..{one.end}" for one in whole]
    if len(shown) <= MAX_PARTITIONS:
        return ", ".join(shown)
    count, offsets = len({one.topic_partition for one in whole}), sum(one.size for one in whole)
    return f"{_some(shown, MAX_PARTITIONS)}: {offsets} offsets of {count} partitions"


def _leaves(prefix: str, data_type: DataType) -> Iterator[str]:
    if not isinstance(data_type, StructType):
        yield prefix
        return
    for field in data_type.fields:
        yield from _leaves(f"{prefix}.{field.name}" if prefix else field.name, field.dataType)


def _filter(one: Filter) -> str:
    operator, value = type(one).__name__, getattr(one, "value", None)
    column = ".".join(getattr(one, "attribute", ()))
    if operator in ("IsNull", "IsNotNull"):
        return f"{column} {'is null' if operator == 'IsNull' else 'is not null'}"
    if operator == "Not":
        return f"not ({_filter(one.child)})"  # type: ignore[attr-defined]
    if operator not in _SYMBOLS:
        return operator
    return f"{column} {_SYMBOLS[operator]} {_shortened(value)}"


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 1]}…"


def _some(items: Sequence[str], limit: int) -> str:
    more = len(items) - limit
    return ", ".join(islice(items, limit)) + (f" and {more} more" if more > 0 else "")
