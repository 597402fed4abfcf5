"""A write whose typed columns do not fit their schemas fails when it is planned."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql.types import (
    CalendarIntervalType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from ottla.errors import SchemaError
from ottla.spark.options.write_options import parse_write_options
from ottla.spark.writing.writer import BatchWriter, make_stream_writer
from ottla.testing import MockRegistry
from tests.spark.sink_schemas import BASE, TO

ORDER = """{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"},
    {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
    {"name": "counts", "type": {"type": "map", "values": "int"}}]}"""
JSON = '{"type": "object", "properties": {"id": {"type": "integer"}}}'
PROTOBUF = 'syntax = "proto3"; message Order { int64 id = 1; }'
ORDER_TYPE = StructType(
    [
        StructField("id", LongType()),
        StructField("at", TimestampType()),
        StructField("counts", MapType(StringType(), IntegerType())),
    ]
)
NUMBER = StructType([StructField("id", LongType())])
TEXT = StructType([StructField("id", StringType())])


@pytest.fixture
def registry() -> Iterator[MockRegistry]:
    with MockRegistry() as registry:
        registry.register("t-value", ORDER)
        yield registry


def plan(options: dict[str, str], **columns: object) -> None:
    """Plan a batch and a stream with these columns."""
    fields = [StructField(name, data_type) for name, data_type in columns.items()]  # type: ignore[arg-type]
    # A column that no record has may have any type.
    frame = StructType([*fields, StructField("n", CalendarIntervalType())])
    BatchWriter(parse_write_options(options), frame, overwrite=False)
    make_stream_writer(parse_write_options(options), frame)


def test_columns_of_the_schemas_type_are_planned(registry: MockRegistry) -> None:
    typed = {**TO, "value.format": "avro"}
    plan({**typed, "schema.registry.url": registry.url}, value=ORDER_TYPE)
    plan({**typed, "value.schema": ORDER, "value.wireFormat": "none"}, value=ORDER_TYPE)
    key = {"key.format": "avro", "key.schema": '"long"', "key.wireFormat": "none"}
    plan({**TO, **key}, key=LongType(), value=StringType())
    # Each row's topic has its own schema, which tasks look up.
    both = {**BASE, "value.format": "avro", "schema.registry.url": registry.url}
    plan(both, value=StringType(), topic=StringType())


@pytest.mark.parametrize("column", ["key", "value"])
@pytest.mark.parametrize(
    ("format_name", "text"), [("avro", ORDER), ("json", JSON), ("protobuf", PROTOBUF)]
)
@pytest.mark.parametrize("wrong", [StringType(), TEXT])
def test_columns_of_another_type_fail(
    column: str, format_name: str, text: str, wrong: StringType | StructType
) -> None:
    options = {f"{column}.format": format_name, f"{column}.schema": text}
    columns = {"value": StringType(), column: wrong}
    place = rf"{column}: columns of this type .* the column '{column}' of the frame has the type"
    with pytest.raises(SchemaError, match=place):
        plan({**TO, **options, f"{column}.wireFormat": "none"}, **columns)


@pytest.mark.parametrize("schema", [{}, {"value.schema": ORDER}, {"value.schema": "1"}])
def test_schemas_of_the_registry_are_looked_up(
    registry: MockRegistry, schema: dict[str, str]
) -> None:
    options = {**TO, "value.format": "avro", "schema.registry.url": registry.url, **schema}
    plan(options, value=ORDER_TYPE)
    with pytest.raises(SchemaError, match=r"has the type struct<id:bigint>: CAST it"):
        plan(options, value=NUMBER)


def test_planning_registers_nothing(registry: MockRegistry) -> None:
    options = {**TO, "topic": "new", "value.format": "avro", "schema.registry.url": registry.url}
    text = ORDER.replace("Order", "Copy")
    options |= {"value.schema": text, "value.register": "true"}
    plan(options, value=ORDER_TYPE)
    with pytest.raises(SchemaError, match="CAST it"):
        plan(options, value=NUMBER)
    assert registry.subjects() == ["t-value"]
    with pytest.raises(SchemaError, match="register a schema"):
        plan({**options, "value.register": "false"}, value=ORDER_TYPE)
