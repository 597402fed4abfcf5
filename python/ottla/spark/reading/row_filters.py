"""Filters on decoded fields, which a task applies before its rows are passed to Spark.

Made by the batch reader with the option ``pushFilters``, and pickled to tasks. Invariant: only
filters that mean the same to Arrow and to Spark are applied here; Spark applies all of them again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
)

from ottla.spark.reading.spark_types import field_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter

# Of these types, the values have one order and one equality; NaN and time zones have not.
_COMPARABLE = (
    BooleanType,
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    StringType,
    DateType,
)

_COMPARISONS = {
    "EqualTo": "equal",
    "EqualNullSafe": "equal",
    "GreaterThan": "greater",
    "GreaterThanOrEqual": "greater_equal",
    "LessThan": "less",
    "LessThanOrEqual": "less_equal",
}
_TEXT_SEARCHES = {
    "StringStartsWith": "starts_with",
    "StringEndsWith": "ends_with",
    "StringContains": "match_substring",
}


@dataclass(frozen=True)
class RowFilter:
    """A filter on one field.

    Attributes:
        path: the column, and the names of the nested fields.
        operator: the name of Spark's class.
        value: what the field is compared with.
    """

    path: tuple[str, ...]
    operator: str
    value: Any = None


def row_filters(filters: Iterable[Filter], schema: StructType) -> tuple[RowFilter, ...]:
    """Return the filters on fields of this schema that tasks apply."""
    result = []
    for one in filters:
        path: tuple[str, ...] = getattr(one, "attribute", ())
        operator, value = type(one).__name__, getattr(one, "value", None)
        data_type = _type_of(schema, path)
        if data_type is None:
            continue
        if operator in ("IsNull", "IsNotNull"):
            result.append(RowFilter(path, operator))
        elif isinstance(data_type, _COMPARABLE) and value is not None:
            if operator in _COMPARISONS:
                result.append(RowFilter(path, operator, value))
            elif operator == "In" and all(item is not None for item in value):
                result.append(RowFilter(path, operator, tuple(value)))
            elif operator in _TEXT_SEARCHES and isinstance(data_type, StringType):
                result.append(RowFilter(path, operator, value))
    return tuple(result)


def matching_rows(batch: pa.RecordBatch, filters: tuple[RowFilter, ...]) -> pa.RecordBatch:
    """Return the rows that match all filters."""
    for one in filters:
        array = batch.column(one.path[0])
        for name in one.path[1:]:
            array = field_of(array, name)
        batch = batch.filter(_mask(array, one))
    return batch


def _mask(array: pa.Array, one: RowFilter) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if one.operator == "IsNull":
        return array.is_null()
    if one.operator == "IsNotNull":
        return array.is_valid()
    if one.operator == "In":
        return pc.is_in(array, value_set=pa.array(one.value, array.type))
    if one.operator in _TEXT_SEARCHES:
        return getattr(pc, _TEXT_SEARCHES[one.operator])(array, pattern=one.value)
    return getattr(pc, _COMPARISONS[one.operator])(array, pa.scalar(one.value, array.type))


def _type_of(schema: StructType, path: tuple[str, ...]) -> DataType | None:
    current: DataType = schema
    for name in path:
        if not isinstance(current, StructType) or name not in current.names:
            return None
        current = current[name].dataType
    return current if path else None
