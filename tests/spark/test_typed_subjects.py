"""Subjects that the record names, and schemas that refer to others, in typed reads and writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from ottla.errors import ConfigError, SchemaError
from ottla.schema import Registry
from ottla.spark.formats import format_for
from ottla.spark.options.read_options import parse_batch_options
from ottla.spark.options.typed_columns import TypedColumn
from ottla.spark.options.write_options import parse_write_options
from ottla.spark.writing.writer import BatchWriter
from ottla.testing import MockCluster, MockRegistry
from tests.spark.sink_schemas import TO

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERED = """{"type": "record", "name": "Ordered", "namespace": "events", "fields": [
    {"name": "id", "type": "long"}]}"""
PAID = """{"type": "record", "name": "Paid", "namespace": "events", "fields": [
    {"name": "of", "type": "events.Ordered"}]}"""
REFERENCES = json.dumps({"events.Ordered": "ordered:1"})
OF = StructType([StructField("of", StructType([StructField("id", LongType())]))])


@pytest.fixture
def registry() -> Iterator[MockRegistry]:
    with MockRegistry() as registry:
        registry.register("ordered", ORDERED)
        yield registry


def written(options: dict[str, str]) -> TypedColumn:
    """Parse the options of a write."""
    column = parse_write_options({**TO, "value.format": "avro", **options}).typed.value
    assert column is not None
    return column


def read(options: dict[str, str]) -> TypedColumn:
    """Parse the options of a read."""
    base = {"kafka.bootstrap.servers": "b:1", "subscribe": "t", "value.format": "avro"}
    column = parse_batch_options({**base, **options}).common.typed.value
    assert column is not None
    return column


def schema(registry: MockRegistry, **more: str) -> dict[str, str]:
    options = {"value.schema": PAID, "value.references": REFERENCES, **more}
    return {**options, "schema.registry.url": registry.url}


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [("topic", "t-value"), ("record", "events.Paid"), ("TOPIC_RECORD", "t-events.Paid")],
)
def test_a_write_and_a_read(registry: MockRegistry, strategy: str, subject: str) -> None:
    more = {"value.subjectStrategy": strategy, "value.register": "true"}
    value = {"of": {"id": 7}}
    data = format_for(written(schema(registry, **more))).serialize("t", value)
    assert data is not None
    with Registry(registry.url) as client:
        assert client.subjects() == sorted(["ordered", subject])
        (reference,) = client.latest(subject).references
        assert (reference.subject, reference.version) == ("ordered", 1)
    assert format_for(read(schema(registry))).deserialize("t", data) == value


def test_the_type_of_a_column_is_checked_when_the_write_is_planned(
    registry: MockRegistry,
) -> None:
    more = {"value.subjectStrategy": "record", "value.register": "true"}
    options = parse_write_options({**TO, "value.format": "avro", **schema(registry, **more)})

    def plan(data_type: StructType) -> None:
        frame = StructType([StructField("value", data_type)])
        BatchWriter(options, frame, overwrite=False)

    plan(OF)
    with pytest.raises(SchemaError, match="value"):
        plan(StructType([StructField("of", StringType())]))
    with Registry(registry.url) as client:
        # Nothing is registered by planning.
        assert client.subjects() == ["ordered"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"value.references": REFERENCES}, "needs value.schema with the text of a schema"),
        ({"value.schema": PAID, "value.references": "{"}, "a JSON object such as"),
        ({"value.schema": PAID, "value.references": "[]"}, "a JSON object such as"),
        ({"value.schema": PAID, "value.references": '{"a": 1}'}, "a JSON object such as"),
        ({"value.schema": PAID, "value.references": '{"a": "s"}'}, "SUBJECT:VERSION"),
        ({"value.schema": PAID, "value.references": '{"a": "s:0"}'}, "SUBJECT:VERSION"),
        ({"value.schema": PAID, "value.references": '{"": "s:1"}'}, "SUBJECT:VERSION"),
        (
            {"value.schema": PAID, "value.references": f'{{"a": "s:{"9" * 5000}"}}'},
            "SUBJECT:VERSION",
        ),
    ],
)
def test_malformed_references(registry: MockRegistry, options: dict[str, str], error: str) -> None:
    for parse in (read, written):
        with pytest.raises(ConfigError, match=error):
            parse({**options, "schema.registry.url": registry.url})


def test_references_need_a_registry() -> None:
    options = {"value.schema": PAID, "value.references": REFERENCES, "value.wireFormat": "none"}
    for parse in (read, written):
        with pytest.raises(ConfigError, match=r"value.references needs schema.registry.url"):
            parse(options)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"value.subjectStrategy": "record"}, "needs value.schema with the text"),
        ({"value.subjectStrategy": "name"}, "one of topic, record, topic_record"),
        ({"value.subjectStrategy": "topic", "value.subject": "s"}, "not both"),
        (
            {"value.subjectStrategy": "topic", "value.schema": PAID, "value.wireFormat": "none"},
            "has no effect with value.wireFormat=none",
        ),
    ],
)
def test_strategies_without_effect(
    registry: MockRegistry, options: dict[str, str], error: str
) -> None:
    with pytest.raises(ConfigError, match=error):
        written({**options, "schema.registry.url": registry.url})


def test_a_read_has_no_strategy_and_no_types_as_written(registry: MockRegistry) -> None:
    url = {"schema.registry.url": registry.url}
    with pytest.raises(ConfigError, match=r"unknown option .value\.subjectstrategy"):
        read({**url, "value.subjectStrategy": "record"})
    with pytest.raises(ConfigError, match="a column of Spark has one type"):
        read({**url, "value.schema": "written"})


@pytest.mark.spark
def test_two_types_of_one_topic_are_read_to_a_union(
    spark: SparkSession, registry: MockRegistry
) -> None:
    with MockCluster(brokers=1) as cluster:
        cluster.create_topic("shop", partitions=1)
        kafka = {"kafka.bootstrap.servers": cluster.bootstrap}
        typed = {"value.format": "avro", "schema.registry.url": registry.url}
        rows = {
            ORDERED: "named_struct('id', 7L)",
            PAID: "named_struct('of', named_struct('id', 8L))",
        }
        for text, row in rows.items():
            names = {"value.references": REFERENCES} if text == PAID else {}
            frame = spark.range(1).selectExpr(f"{row} AS value")
            frame.write.format("ottla").mode("append").options(
                **{**kafka, **typed, **names, "topic": "shop", "value.schema": text},
                **{"value.subjectStrategy": "record", "value.register": "true"},
            ).save()
        with Registry(registry.url) as client:
            assert client.subjects() == ["events.Ordered", "events.Paid", "ordered"]
        union = {
            "value.schema": '["events.Ordered", "events.Paid"]',
            "value.references": json.dumps(
                {"events.Ordered": "ordered:1", "events.Paid": "events.Paid:1"}
            ),
        }
        source = {**kafka, **typed, **union, "subscribe": "shop"}
        read_back = spark.read.format("ottla").options(**source).load().orderBy("offset")
        found = [row.value.asDict(recursive=True) for row in read_back.collect()]
    assert found == [
        {"member0": {"id": 7}, "member1": None},
        {"member0": None, "member1": {"of": {"id": 8}}},
    ]


def test_the_id_of_a_schema_is_written_to_a_header(registry: MockRegistry) -> None:
    more = {"value.register": "true", "value.schemaIdSerializer": "header"}
    headers: list[tuple[str, bytes]] = []
    value = format_for(written(schema(registry, **more)))
    data = value.serialize("t", {"of": {"id": 7}}, headers)
    assert data == b"\x0e"
    assert [(name, guid[:1], len(guid)) for name, guid in headers] == [
        ("__value_schema_id", b"\x01", 17)
    ]
    with pytest.raises(ConfigError, match=r"schemaIdSerializer=header needs value\.wireFormat"):
        written(schema(registry, **{**more, "value.wireFormat": "apicurio"}))


@pytest.mark.parametrize("column", ["key", "value"])
@pytest.mark.parametrize("wire_format", ["none", "apicurio", "glue"])
@pytest.mark.parametrize("serializer", ["prefix", "header"])
def test_a_place_of_the_id_is_refused_where_none_is_chosen(
    registry: MockRegistry, column: str, wire_format: str, serializer: str
) -> None:
    more = {f"{column}.wireFormat": wire_format, f"{column}.schemaIdSerializer": serializer}
    options = {f"{column}.format": "avro", f"{column}.schema": PAID}
    match = rf"option {column}\.schemaIdSerializer={serializer} .*no effect with {wire_format}"
    with pytest.raises(ConfigError, match=match):
        written({"schema.registry.url": registry.url, **options, **more})


def test_a_subject_is_refused_where_no_id_is_looked_up(registry: MockRegistry) -> None:
    options = schema(registry, **{"value.wireFormat": "none", "value.subject": "paid"})
    with pytest.raises(ConfigError, match=r"value\.subject has no effect with value\.schema and"):
        written(options)
