"""Converts the rows of a stream to Arrow batches, for PySpark 4.0, which passes only rows.

Used by ``writer``. Invariant: the batches equal the Arrow batches that newer versions pass: the
columns that a record has, with timestamps in UTC whatever the worker's time zone is.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from itertools import islice
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    Row,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

if TYPE_CHECKING:
    import pyarrow as pa

# Spark's default for the rows of an Arrow batch.
_ROWS_PER_BATCH = 10_000


def rows_to_batches(
    rows: Iterator[Row], schema: StructType, typed: frozenset[str] = frozenset()
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches, without columns of types that no part of a record has.

    The columns named ``typed`` may have any type.
    """
    import pyarrow as pa

    columns = [
        (index, column.name, arrow_type)
        for index, column in enumerate(schema.fields)
        if (
            arrow_type := _nested_type(column.dataType)
            if column.name in typed
            else _arrow_type(column.dataType)
        )
        is not None
    ]
    batch_schema = pa.schema([(name, arrow_type) for _, name, arrow_type in columns])
    while chunk := list(islice(rows, _ROWS_PER_BATCH)):
        arrays = [
            pa.array([_to_python_value(row[index]) for row in chunk], arrow_type)
            if not pa.types.is_timestamp(arrow_type)
            else pa.array([_to_utc(row[index], arrow_type) for row in chunk], arrow_type)
            for index, _, arrow_type in columns
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=batch_schema)


def _arrow_type(data_type: DataType) -> pa.DataType | None:
    # Spark's own function for this has different parameters in each version.
    import pyarrow as pa

    match data_type:
        case BinaryType():
            return pa.binary()
        case StringType():
            return pa.string()
        case IntegerType():
            return pa.int32()
        case TimestampType():
            return pa.timestamp("us", "UTC")
        case TimestampNTZType():
            return pa.timestamp("us")
        case ArrayType(elementType=StructType()):
            header = pa.struct([("key", pa.string()), ("value", pa.binary())])
            return pa.list_(header)
        case _:
            return None


def _nested_type(data_type: DataType) -> pa.DataType:
    from ottla.spark.reading.spark_types import to_arrow_type

    return to_arrow_type(data_type)


def _to_utc(value: datetime | None, arrow_type: pa.DataType) -> datetime | None:
    # Spark passes timestamps in the worker's time zone, as naive datetimes.
    if value is None or arrow_type.tz is None:
        return value
    return value.astimezone(timezone.utc)


def _to_python_value(value: object) -> object:
    # Headers are a list of Rows, which Arrow does not support.
    if isinstance(value, Row):
        return {name: _to_python_value(item) for name, item in value.asDict().items()}
    return [_to_python_value(item) for item in value] if isinstance(value, list) else value
