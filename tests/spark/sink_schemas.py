"""Parses schemas of frames to write from short texts; options that every write needs."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

BASE = {"kafka.bootstrap.servers": "b:1"}
TO = {**BASE, "topic": "t"}


def headers_of(key: DataType) -> ArrayType:
    return ArrayType(StructType([StructField("key", key), StructField("value", BinaryType())]))


TYPES: dict[str, DataType] = {
    "binary": BinaryType(),
    "string": StringType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "double": DoubleType(),
    "headers": headers_of(StringType()),
    "headers-by-bytes": headers_of(BinaryType()),
}


def schema(text: str) -> StructType:
    """Parse a schema such as `"value binary, partition int"`; Spark's parser needs a session."""
    columns = [column.split() for column in text.split(", ")]
    return StructType([StructField(name, TYPES[kind]) for name, kind in columns])
