"""The schema of a read: full, selected by the user, and the Arrow schema that Spark requires."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
)

from ottla.errors import ConfigError
from ottla.spark.reading.schema import arrow_schema, cast_to_schema, check_schema, full_schema

FULL = full_schema(include_headers=True)


def test_full_schema_equals_that_of_sparks_source() -> None:
    assert FULL.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,"
        "timestamp:timestamp,timestampType:int,headers:array<struct<key:string,value:binary>>>"
    )
    assert full_schema(include_headers=False).names == FULL.names[:-1]
    assert all(column.nullable for column in FULL)


def test_any_selection_and_order_is_accepted_and_matches_spark() -> None:
    for count in (1, 2):
        for names in itertools.permutations(FULL.names, count):
            schema = StructType([FULL[name] for name in names])
            check_schema(schema)
            expected = to_arrow_schema(schema, timezone="UTC")
            assert arrow_schema(schema).equals(expected, check_metadata=True)
    check_schema(FULL)
    assert arrow_schema(FULL).equals(to_arrow_schema(FULL, timezone="UTC"), check_metadata=True)


def test_not_null_is_kept_for_columns_that_are_never_null() -> None:
    schema = StructType([StructField("offset", LongType(), nullable=False)])
    check_schema(schema)
    assert not arrow_schema(schema).field("offset").nullable


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([], "the schema is empty"),
        ([StructField("valeu", BinaryType())], "no column 'valeu'; did you mean 'value'?"),
        ([StructField("xyz", BinaryType())], "no column 'xyz'; the columns are: key, value,"),
        ([StructField("value", StringType())], "'value' is binary, not string; .* CAST"),
        ([StructField("offset", IntegerType())], "'offset' is bigint, not int"),
        ([StructField("timestamp", TimestampNTZType())], "'timestamp' is timestamp, not"),
        ([StructField("headers", ArrayType(BinaryType()))], "'headers' is array<struct<"),
        ([StructField("key", BinaryType(), nullable=False)], "'key' can be null"),
        ([StructField("key", BinaryType())] * 2, "'key' is in the schema twice"),
    ],
)
def test_rejected_schemas(fields: list[StructField], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_schema(StructType(fields))


def test_cast_to_schema_copies_no_buffer() -> None:
    header = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
    headers = pa.array([[{"key": "k", "value": None}], None], pa.list_(header))
    offsets = pa.array([1, 2], pa.int64())
    given = pa.record_batch([headers, offsets], names=["headers", "offset"])
    schema = StructType([FULL["headers"], StructField("offset", LongType(), nullable=False)])
    batch = cast_to_schema(given, arrow_schema(schema))
    assert batch.schema.equals(to_arrow_schema(schema, timezone="UTC"), check_metadata=True)
    assert batch.column(1).buffers()[1].address == offsets.buffers()[1].address
    assert batch.to_pylist() == given.to_pylist()
    assert cast_to_schema(batch, arrow_schema(schema)) is batch
