"""Rows of a stream as Arrow batches, where Spark gives rows alone, as PySpark 4.0 does.

Used by ``writer``. Invariant: what comes out is what newer versions hand over as Arrow: the columns
that a record is made of, and moments in UTC whatever the worker's time zone is.
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

# As many rows as Spark puts into an Arrow batch by itself.
_ROWS_AT_ONCE = 10_000


def batches_of(rows: Iterator[Row], schema: StructType) -> Iterator[pa.RecordBatch]:
    """The rows in batches, without columns of types that no record's part has."""
    import pyarrow as pa

    kept = [
        (at, column.name, kind)
        for at, column in enumerate(schema.fields)
        if (kind := _arrow_type(column.dataType)) is not None
    ]
    arrow = pa.schema([(name, kind) for _, name, kind in kept])
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        columns = [
            pa.array([_plain(row[at]) for row in some], kind)
            if not pa.types.is_timestamp(kind)
            else pa.array([_moment(row[at], kind) for row in some], kind)
            for at, _, kind in kept
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=arrow)


def _arrow_type(kind: DataType) -> pa.DataType | None:
    # Spark's own function for this has other parameters in each version.
    import pyarrow as pa

    match kind:
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


def _moment(value: datetime | None, kind: pa.DataType) -> datetime | None:
    # Spark gives a moment in the time of the worker's machine, without saying so.
    if value is None or kind.tz is None:
        return value
    return value.astimezone(timezone.utc)


def _plain(value: object) -> object:
    # Headers come as a list of Rows, which Arrow does not know.
    if isinstance(value, Row):
        return value.asDict()
    return [_plain(item) for item in value] if isinstance(value, list) else value
