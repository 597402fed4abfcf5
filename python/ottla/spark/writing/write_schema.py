"""The columns of a write: which ones make up a record, and their types.

Called by ``writer``. Invariant: a frame that cannot be written is rejected before anything
connects, for the same reasons as by Spark's sink; ``typed_write_check`` has the types of columns
that are encoded with a schema. Columns that no record has are dropped, so a
frame that was read from Kafka can be written unchanged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from ottla.errors import ConfigError
from ottla.spark.options.write_options import WriteOptions

if TYPE_CHECKING:
    import pyarrow as pa


def check_write_schema(schema: StructType, options: WriteOptions) -> None:
    """Raise a ConfigError if a frame with this schema cannot be written."""
    columns = {column.name: column.dataType for column in schema.fields}
    if options.topic is None:
        if "topic" not in columns:
            raise ConfigError(
                "there is no column 'topic', so the option topic is required to say where to write"
            )
        _check_type("topic", columns["topic"], (StringType,), "string")
    if "value" not in columns:
        raise ConfigError(f"required column 'value' not found; there are: {', '.join(columns)}")
    typed = {one.column for one in options.typed.each()}
    if "key" in typed and "key" not in columns:
        raise ConfigError("option key.format: there is no column 'key'")
    for name in ("key", "value"):
        if name in columns and name not in typed:
            _check_type(name, columns[name], (StringType, BinaryType), "string or binary")
    if "headers" in columns and not _is_header_array(columns["headers"]):
        raise _unsupported_type(
            "headers", columns["headers"], "array<struct<key:string,value:binary>>"
        )
    if "partition" in columns:
        _check_type("partition", columns["partition"], (IntegerType,), "int")
    if options.include_timestamp:
        if "timestamp" not in columns:
            raise ConfigError("includeTimestamp is true, but there is no column 'timestamp'")
        timestamps = (TimestampType, TimestampNTZType)
        _check_type("timestamp", columns["timestamp"], timestamps, "timestamp")


def fingerprint_of(schema: StructType, options: WriteOptions) -> str:
    """Return a text that changes with the columns of a write, and with what becomes of them."""
    parts = (schema.json(), str(options.topic), str(options.include_timestamp), str(options.typed))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def split_by_topic(
    batch: pa.RecordBatch, options: WriteOptions
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield each topic with its rows, in order, reduced to the columns of a record."""
    import pyarrow.compute as pc

    names = ["key", "value", "headers", "partition"]
    if options.include_timestamp:
        names.append("timestamp")
    rows = batch.select([name for name in names if name in batch.schema.names])
    if batch.num_rows == 0:
        return
    if options.topic is not None:
        yield options.topic, rows
        return
    topics = batch.column("topic")
    if topics.null_count:
        raise ConfigError(
            "a row has null as its topic; filter such rows, or set the option topic for all rows"
        )
    if pc.count_distinct(topics).as_py() > 1:
        # A stable sort: rows of one topic stay in order.
        order = pc.sort_indices(topics)
        topics, rows = topics.take(order), rows.take(order)
    runs = pc.run_end_encode(topics)
    start = 0
    for topic, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield topic, rows.slice(start, end - start)
        start = end


def _is_header_array(data_type: DataType) -> bool:
    # Nullable elements are accepted here: a null header is rejected when its row is written.
    if not isinstance(data_type, ArrayType) or not isinstance(data_type.elementType, StructType):
        return False
    fields = [(field.name, field.dataType) for field in data_type.elementType.fields]
    return fields == [("key", StringType()), ("value", BinaryType())]


def _check_type(
    name: str, data_type: DataType, accepted: tuple[type[DataType], ...], expected: str
) -> None:
    if not isinstance(data_type, accepted):
        raise _unsupported_type(name, data_type, expected)


def _unsupported_type(name: str, data_type: DataType, expected: str) -> ConfigError:
    return ConfigError(
        f"column {name!r} has unsupported type {data_type.simpleString()}; "
        f"{name} must be {expected}: CAST it"
    )
