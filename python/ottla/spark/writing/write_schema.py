"""The columns of a write: which ones a record is made of, and what each may be.

Called by ``writer``. Invariant: a frame that can't be written is refused before anything connects,
for the reasons of Spark's sink; columns that no record has are left out, so that a frame that was
read can be written as it is.
"""

from __future__ import annotations

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
from ottla.spark.options.write_options import SinkOptions

if TYPE_CHECKING:
    import pyarrow as pa


def check_sink_schema(schema: StructType, options: SinkOptions) -> None:
    """Say what keeps a frame of this schema from being written, if anything does."""
    columns = {column.name: column.dataType for column in schema.fields}
    if options.topic is None:
        if "topic" not in columns:
            raise ConfigError(
                "there is no column 'topic', so the option topic is required to say where to write"
            )
        _check("topic", columns["topic"], (StringType,), "string")
    if "value" not in columns:
        raise ConfigError(f"required column 'value' not found; there are: {', '.join(columns)}")
    for name in ("key", "value"):
        if name in columns:
            _check(name, columns[name], (StringType, BinaryType), "string or binary")
    if "headers" in columns and not _are_headers(columns["headers"]):
        raise _wrong("headers", columns["headers"], "array<struct<key:string,value:binary>>")
    if "partition" in columns:
        _check("partition", columns["partition"], (IntegerType,), "int")
    if options.include_timestamp:
        if "timestamp" not in columns:
            raise ConfigError("includeTimestamp is true, but there is no column 'timestamp'")
        _check("timestamp", columns["timestamp"], (TimestampType, TimestampNTZType), "timestamp")


def by_topic(batch: pa.RecordBatch, options: SinkOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows for each topic, in order within it, in the columns that a record is made of."""
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
            "a row has null as its topic; filter such rows, or use the option topic for all"
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


def _are_headers(found: DataType) -> bool:
    # Whether elements may be null does not matter here: a header that is null is refused by row.
    if not isinstance(found, ArrayType) or not isinstance(found.elementType, StructType):
        return False
    parts = [(part.name, part.dataType) for part in found.elementType.fields]
    return parts == [("key", StringType()), ("value", BinaryType())]


def _check(name: str, found: DataType, accepted: tuple[type[DataType], ...], words: str) -> None:
    if not isinstance(found, accepted):
        raise _wrong(name, found, words)


def _wrong(name: str, found: DataType, words: str) -> ConfigError:
    return ConfigError(
        f"column {name!r} has unsupported type {found.simpleString()}; "
        f"{name} must be {words}: CAST it"
    )
