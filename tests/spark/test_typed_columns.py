"""Typed columns in Spark: formats, projection, pinned schemas, and records that cannot be decoded.

Values are written by fastavro with the ids of a schema registry, and read back.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

import ottla
import ottla.spark
from ottla.spark.options.read_options import parse_batch_options
from ottla.spark.reading.columns import full_columns, read_columns
from ottla.testing import MockCluster, MockRegistry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ORDER = """{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"},
    {"name": "item", "type": ["null", "string"], "default": null},
    {"name": "price", "type":
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line",
        "fields": [{"name": "sku", "type": "string"}, {"name": "count", "type": "int"}]}}},
    {"name": "tags", "type": {"type": "map", "values": "string"}}
]}"""
ADDED = ORDER.removesuffix("]}") + ', {"name": "note", "type": "string", "default": "none"}]}'


def order(number: int) -> dict[str, Any]:
    """Return an order, as fastavro writes it."""
    return {
        "id": number,
        "item": None if number % 3 == 0 else f"item {number}",
        "price": Decimal(number).scaleb(-2),
        "at": datetime(2026, 11, 25, microsecond=number * 1000, tzinfo=timezone.utc),
        "lines": [{"sku": f"s{n}", "count": n} for n in range(number % 3)],
        "tags": {"n": str(number)},
    }


def encode(schema_id: int, schema: str, record: dict[str, Any]) -> bytes:
    """Encode a value with the id of its schema."""
    out = io.BytesIO(b"\0" + schema_id.to_bytes(4, "big"))
    out.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(schema)), record)
    return out.getvalue()


class Orders:
    """A topic of orders in a mock cluster, and the registry with its schema."""

    def __init__(self, spark: SparkSession, cluster: MockCluster, registry: MockRegistry) -> None:
        self.spark, self.cluster, self.registry = spark, cluster, registry
        self.topic = "orders"
        cluster.create_topic(self.topic, partitions=1)
        self.schema_id = registry.register(f"{self.topic}-value", ORDER)

    def append(self, *numbers: int) -> None:
        """Append orders."""
        values = [encode(self.schema_id, ORDER, order(number)) for number in numbers]
        self.cluster.append(self.topic, 0, values)

    def options(self, **more: str) -> dict[str, str]:
        """Return the options of a read, with dots for underscores."""
        return {
            "kafka.bootstrap.servers": self.cluster.bootstrap,
            "subscribe": self.topic,
            "value.format": "avro",
            "schema.registry.url": self.registry.url,
            **{name.replace("_", "."): value for name, value in more.items()},
        }

    def read(self, schema: str | StructType | None = None, **more: str) -> DataFrame:
        """Return a frame of the topic."""
        reader = self.spark.read.format("ottla").options(**self.options(**more))
        return (reader if schema is None else reader.schema(schema)).load()


@pytest.fixture
def orders(spark: SparkSession, mock_cluster: MockCluster, mock_registry: MockRegistry) -> Orders:
    """Ten orders."""
    orders = Orders(spark, mock_cluster, mock_registry)
    orders.append(*range(10))
    return orders


def test_values_become_a_struct(orders: Orders) -> None:
    """The struct has the types that from_avro gives, and every value."""
    frame = orders.read()
    assert frame.schema["value"].dataType.simpleString() == (
        "struct<id:bigint,item:string,price:decimal(9,2),at:timestamp,"
        "lines:array<struct<sku:string,count:int>>,tags:map<string,string>>"
    )
    assert frame.schema["value"].metadata["ottla.schema"] == "orders-value, version 1, id 1"
    rows = frame.orderBy("offset").collect()
    assert [row.offset for row in rows] == list(range(10))
    value = rows[5].value.asDict(recursive=True)
    assert (value["id"], value["item"], str(value["price"])) == (5, "item 5", "0.05")
    assert value["lines"] == [{"sku": "s0", "count": 0}, {"sku": "s1", "count": 1}]
    assert value["tags"] == {"n": "5"}
    assert value["at"].microsecond == 5000


def test_the_users_schema_projects_inside_the_decoder(orders: Orders) -> None:
    """A schema of the read selects nested fields, in any order; others are not decoded."""
    frame = orders.read("offset bigint, value struct<lines:array<struct<count:int>>,id:bigint>")
    rows = [row.asDict(recursive=True) for row in frame.orderBy("offset").collect()]
    assert rows[2] == {"offset": 2, "value": {"lines": [{"count": 0}, {"count": 1}], "id": 2}}
    flat = orders.read("item string, id bigint", value_flatten="true")
    assert sorted(flat.collect(), key=lambda row: row.id)[4].asDict() == {"item": "item 4", "id": 4}
    names = orders.read(value_flatten="true").columns
    kafkas = ["topic", "partition", "offset", "timestamp", "timestampType"]
    assert names == ["key", *json_names(ORDER), *kafkas]


def json_names(schema: str) -> list[str]:
    """Return the names of a record's fields."""
    return [field["name"] for field in json.loads(schema)["fields"]]


@pytest.mark.parametrize(
    ("schema", "more", "fragment"),
    [
        ("value struct<ID:bigint>", {}, "did you mean 'value.id'?"),
        ("value struct<id:int>", {}, "'value.id' is bigint, not int"),
        ("value struct<id:bigint not null>", {}, "'value.id' can be null"),
        ("id bigint", {}, "no column 'id'"),
        (None, {"value_format": "xml"}, "value.format must be one of avro, protobuf, json"),
        (None, {"value_mode": "lenient"}, "value.mode must be one of"),
        (None, {"value_subject": "none"}, 'subject "none" does not exist'),
        (None, {"value_schema": "99"}, "schema 99"),
        (None, {"subscribe": "orders,other"}, "set value.subject"),
        (None, {"key_schema": "1"}, "key.schema needs key.format"),
        (None, {"value_message": "M"}, "value.message is for value.format=protobuf only"),
        (None, {"schema_registry_cache_capacityy": "1"}, "schema.registry.cache.capacity"),
        (None, {"value_schema": "{"}, "not a valid Avro schema"),
    ],
)
def test_mistakes_name_the_option_or_the_column(
    orders: Orders, schema: str | None, more: dict[str, str], fragment: str
) -> None:
    """A wrong option, column or schema is an error when the frame is made."""
    with pytest.raises(PySparkException) as failed:
        orders.read(schema, **more).collect()
    assert fragment in str(failed.value)


def test_a_query_reads_with_the_schema_that_was_latest_when_it_was_made(orders: Orders) -> None:
    """A schema that is registered later is used by later frames only."""
    earlier = orders.read()
    added = orders.registry.register("orders-value", ADDED)
    orders.cluster.append("orders", 0, [encode(added, ADDED, {**order(10), "note": "new"})])
    assert "note" not in earlier.select("value.*").columns
    assert earlier.count() == 11
    later = orders.read().select("offset", "value.note").orderBy("offset").collect()
    assert [row.note for row in later] == ["none"] * 10 + ["new"]
    by_id = orders.read(value_schema="1")
    assert "note" not in by_id.select("value.*").columns
    given = orders.read(value_schema=ADDED).select("value.note").distinct().collect()
    assert {row.note for row in given} == {"none", "new"}


def test_records_that_cannot_be_decoded(orders: Orders) -> None:
    """They fail the task with topic, partition and offset, or are null with the reason."""
    orders.cluster.append("orders", 0, [b"no id", b"\0\0\0\0\x63\0"])
    with pytest.raises(PySparkException, match="orders-0, offset 10"):
        orders.read().collect()
    frame = orders.read(value_mode="permissive")
    rows = frame.select("offset", "value.id", "_error").orderBy("offset").collect()
    assert [row.id for row in rows] == [*range(10), None, None]
    assert "begins with byte 0x6e" in rows[10]._error
    assert "schema 99: it does not exist in" in rows[11]._error
    only_errors = orders.read("_error string, offset bigint", value_mode="permissive")
    assert only_errors.where("_error is not null").count() == 2


def test_dead_letters(orders: Orders) -> None:
    """Records that cannot be decoded are in the topic of dead letters, and not in the frame."""
    orders.cluster.append("orders", 0, [b"no id"])
    frame = orders.read(value_mode="dead_letter", deadLetterTopic="dead")
    assert sorted(row.id for row in frame.select("value.id").collect()) == list(range(10))
    with ottla.Consumer(orders.cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([("dead", 0)])
        (letter,) = consumer.poll(timeout=30.0)
    assert letter.value == b"no id"
    assert dict(letter.headers)["__ottla.errors.offset"] == b"10"
    with pytest.raises(PySparkException, match=r"needs value\.mode=dead_letter"):
        orders.read(deadLetterTopic="dead")
    with pytest.raises(PySparkException, match="its own dead letters"):
        orders.read(value_mode="dead_letter", deadLetterTopic="orders").collect()


PUSHING = "spark.sql.python.filterPushdown.enabled"


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("value.id >= 7", [7, 8, 9]),
        ("value.id IN (1, 2, 30)", [1, 2]),
        ("value.item = 'item 4'", [4]),
        ("value.item IS NULL", [0, 3, 6, 9]),
        ("value.item LIKE 'item%' AND value.id < 5", [1, 2, 4]),
        ("value.price > 0.07", [8, 9]),
        ("value.id = 3 OR value.id = 4", [3, 4]),
    ],
)
def test_filters_on_decoded_fields_apply_in_the_task(
    orders: Orders, condition: str, ids: list[int]
) -> None:
    """Pushed filters give the rows that Spark's own filters give."""
    orders.spark.conf.set(PUSHING, "true")
    try:
        frame = orders.read(pushFilters="true").where(condition)
        assert sorted(row.id for row in frame.select("value.id").collect()) == ids
        flat = orders.read(pushFilters="true", value_flatten="true")
        flat = flat.where(condition.replace("value.", ""))
        assert sorted(row.id for row in flat.select("id").collect()) == ids
    finally:
        orders.spark.conf.unset(PUSHING)


def test_a_task_drops_rows_that_do_not_match(orders: Orders) -> None:
    """Rows that a pushed filter excludes do not leave the task."""
    from pyspark.sql.datasource import EqualTo, GreaterThan, StringStartsWith

    common = parse_batch_options(orders.options()).common
    read = read_columns(common, full_columns(common))
    filters = [GreaterThan(("value", "id"), 2), StringStartsWith(("value", "item"), "item 4")]
    filtered = read.with_filters([*filters, EqualTo(("offset",), 0)])
    with ottla.Client(orders.cluster.bootstrap) as client:
        columns = filtered.scan_columns()
        with client.scan([("orders", 0, 0, 10)], columns=columns, **filtered.formats()) as scan:
            (batch,) = (pa.record_batch(one) for one in scan)
    rows = filtered.to_spark(batch, filtered.arrow_schema())
    assert rows.column("offset").to_pylist() == [4]


def test_keys_and_values_and_read_arrow(orders: Orders) -> None:
    """Keys are decoded likewise, and read_arrow has the same columns."""
    orders.registry.register("keyed-key", '"long"')
    orders.registry.register("keyed-value", ORDER)
    orders.cluster.create_topic("keyed", partitions=1)
    with ottla.Producer(orders.cluster.bootstrap) as producer:
        for number in range(3):
            key = b"\0\0\0\0\2" + bytes([number << 1])
            producer.send("keyed", encode(1, ORDER, order(number)), key)
    options = orders.options(subscribe="keyed", key_format="avro")
    frame = orders.spark.read.format("ottla").options(**options).load()
    assert [tuple(row) for row in frame.select("key", "value.id").collect()] == [
        (0, 0),
        (1, 1),
        (2, 2),
    ]

    def ids(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            values = batch.column("value")
            yield pa.RecordBatch.from_arrays([values.field("id")], ["id"])

    arrow = ottla.spark.read_arrow(orders.spark, options, transform=ids, schema="id bigint")
    assert sorted(row.id for row in arrow.collect()) == [0, 1, 2]


def test_a_write_encodes_columns(orders: Orders, tmp_path: Path) -> None:
    """What was read is written with another schema and read again, by a batch and by a stream."""
    text = """{"type": "record", "name": "Copy", "fields": [
        {"name": "item", "type": ["null", "string"]}, {"name": "id", "type": "long"},
        {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "L",
            "fields": [{"name": "sku", "type": "string"}]}}}]}"""
    orders.cluster.create_topic("copies", partitions=1)
    options = {
        "kafka.bootstrap.servers": orders.cluster.bootstrap,
        "schema.registry.url": orders.registry.url,
        "topic": "copies",
        "value.format": "avro",
        "value.schema": text,
        "value.register": "true",
    }
    columns = "named_struct('id', value.id, 'item', value.item, 'lines', transform(value.lines, "
    columns += "x -> named_struct('sku', x.sku))) AS value"
    orders.read().selectExpr(columns).write.format("ottla").mode("append").options(**options).save()
    copies = orders.read(subscribe="copies").select("value.*")
    assert copies.columns == ["item", "id", "lines"]
    rows = sorted((row.id, row.item, [line.sku for line in row.lines]) for row in copies.collect())
    assert rows[4] == (4, "item 4", ["s0"])
    assert len(rows) == 10
    stream = orders.spark.readStream.format("ottla")
    stream_options = orders.options(startingOffsets="earliest")
    query = (
        stream.options(**stream_options)
        .load()
        .selectExpr(columns)
        .writeStream.format("ottla")
        .options(**options, checkpointLocation=str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert orders.read(subscribe="copies").count() == 20
    assert orders.registry.subjects() == ["copies-value", "orders-value"]


@pytest.mark.parametrize(
    ("more", "fragment"),
    [
        ({}, "register it first"),
        ({"value.format": "xml"}, "value.format must be one of avro, protobuf, json"),
        ({"value.register": "true", "value.schema": "latest"}, "value.register needs value.schema"),
        (
            {"value.schema": '"string"', "value.register": "true"},
            "cannot be encoded with this Avro",
        ),
        ({"key.format": "avro"}, "there is no column 'key'"),
    ],
)
def test_a_write_that_cannot_be_encoded_names_the_cause(
    orders: Orders, more: dict[str, str], fragment: str
) -> None:
    """A wrong option, a schema that is not registered, or columns that do not fit."""
    options = {
        "kafka.bootstrap.servers": orders.cluster.bootstrap,
        "schema.registry.url": orders.registry.url,
        "topic": "orders",
        "value.format": "avro",
        "value.schema": ADDED,
        **more,
    }
    writer = orders.read().select("value").write.format("ottla").mode("append")
    with pytest.raises(PySparkException) as failed:
        writer.options(**options).save()
    assert fragment in str(failed.value)
    assert orders.cluster.end_offset("orders", 0) == 10


def test_a_write_of_a_wrong_type_fails_before_a_task_runs(orders: Orders) -> None:
    frame = orders.spark.range(1).selectExpr("CAST(raise_error('a task ran') AS STRING) AS value")
    options = {
        "kafka.bootstrap.servers": orders.cluster.bootstrap,
        "schema.registry.url": orders.registry.url,
        "topic": "orders",
        "value.format": "avro",
    }
    with pytest.raises(PySparkException) as failed:
        frame.write.format("ottla").mode("append").options(**options).save()
    assert "'value' of the frame has the type string: CAST it" in str(failed.value)
    assert "a task ran" not in str(failed.value)


def test_a_stream_has_typed_columns(
    orders: Orders, tmp_path: Path, memory_sink: Callable[[DataFrame, Path], list[Any]]
) -> None:
    """A stream decodes each micro-batch, and goes on after a restart."""
    reader = orders.spark.readStream.format("ottla")
    frame = reader.options(
        **orders.options(startingOffsets="earliest", value_flatten="true")
    ).load()
    checkpoint = tmp_path / "checkpoint"
    assert sorted(row.id for row in memory_sink(frame.select("id"), checkpoint)) == list(range(10))
    orders.append(10, 11)
    assert sorted(row.id for row in memory_sink(frame.select("id"), checkpoint)) == [10, 11]


@pytest.fixture
def memory_sink(tmp_path: Path) -> Callable[[DataFrame, Path], list[Any]]:
    """Run a stream until it has read everything, and return the rows of this run."""

    def run(frame: DataFrame, checkpoint: Path) -> list[Any]:
        rows: list[Any] = []
        writer = frame.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
        query = (
            writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        )
        query.awaitTermination()
        return rows

    return run
