"""The columns of a read: the full schema, checks of the user's selection, and the Arrow schema.

Called by ``source``, the readers and tasks. Invariant: the Arrow schema is the one that Spark
derives from the same StructType; Spark rejects any other batch.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from ottla.errors import ConfigError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter

    from ottla.spark.protocols import Formats

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])

_TYPES: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": ArrayType(_HEADER),
}

_MAY_BE_NULL = ("key", "value", "headers")


def full_schema(*, include_headers: bool) -> StructType:
    """Return all columns, in the order of Spark's Kafka source, all nullable."""
    return StructType(plain_columns(include_headers=include_headers))


def plain_columns(*, include_headers: bool) -> list[StructField]:
    """Return the columns of ``full_schema``."""
    names = [name for name in _TYPES if include_headers or name != "headers"]
    return [StructField(name, _TYPES[name]) for name in names]


def check_schema(schema: StructType) -> None:
    """Accept any selection of the columns in any order; raise ConfigError for other schemas."""
    if not schema.fields:
        raise ConfigError(f"the schema is empty; name one or more of: {', '.join(_TYPES)}")
    seen: set[str] = set()
    for column in schema.fields:
        check_column(column)
        if column.name in seen:
            raise ConfigError(f"column {column.name!r} is in the schema twice")
        seen.add(column.name)


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the exact Arrow schema of a checked schema, with nested names and nullability."""
    import pyarrow as pa

    header = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
    types: dict[str, pa.DataType] = {
        "key": pa.binary(),
        "value": pa.binary(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestampType": pa.int32(),
        "headers": pa.list_(pa.field("element", header)),
    }
    return pa.schema([pa.field(c.name, types[c.name], nullable=c.nullable) for c in schema.fields])


@dataclass(frozen=True)
class PlainRead:
    """The columns of a read without typed columns."""

    schema: StructType

    def with_filters(self, filters: Iterable[Filter]) -> PlainRead:  # noqa: ARG002
        """Return the same read: tasks filter decoded fields only."""
        return self

    def arrow_schema(self) -> pa.Schema:
        """Return the exact Arrow schema of the batches."""
        return arrow_schema(self.schema)

    def scan_columns(self) -> list[str]:
        """Return the columns to scan."""
        return self.schema.names

    def formats(self) -> Formats:
        """Return the decoders of the scan: none."""
        return {}

    def to_spark(self, batch: pa.RecordBatch, expected: pa.Schema) -> pa.RecordBatch:
        """Return a batch of the scan with exactly the expected schema."""
        return cast_to_schema(batch, expected)


def cast_to_schema(batch: pa.RecordBatch, expected: pa.Schema) -> pa.RecordBatch:
    """Return the same buffers with exactly the expected schema."""
    import pyarrow as pa

    # Arrow producers differ in names and nullability inside lists; the cast copies nothing.
    if batch.schema.equals(expected, check_metadata=True):
        return batch
    columns = [batch.column(index).cast(field.type) for index, field in enumerate(expected)]
    return pa.RecordBatch.from_arrays(columns, schema=expected)


def check_column(column: StructField) -> None:
    """Raise a ConfigError unless a record has this column, with this type."""
    expected = _TYPES.get(column.name)
    if expected is None:
        nearest = difflib.get_close_matches(column.name, _TYPES, n=1)
        hint = (
            f"did you mean {nearest[0]!r}?" if nearest else f"the columns are: {', '.join(_TYPES)}"
        )
        raise ConfigError(f"a Kafka record has no column {column.name!r}; {hint}")
    if column.dataType != expected:
        raise ConfigError(
            f"column {column.name!r} is {expected.simpleString()}, "
            f"not {column.dataType.simpleString()}; read it as that type and CAST it afterwards"
        )
    if not column.nullable and column.name in _MAY_BE_NULL:
        raise ConfigError(f"column {column.name!r} can be null in Kafka; declare it nullable")
