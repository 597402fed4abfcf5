"""Keys and values with a schema: typed columns of polls and scans, and objects of records.

Both are what fastavro reads.
"""

from __future__ import annotations

import io
import json
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import fastavro
import polars as pl
import pyarrow as pa
import pytest

import ottla
from ottla import errors
from ottla.schema import Avro, DeadLetters
from ottla.testing import MockCluster
from tests.support.consumers import KINDS, TIMEOUT

ORDER = """{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"},
    {"name": "item", "type": ["null", "string"], "default": null},
    {"name": "price", "type":
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "tags", "type": {"type": "array", "items": "string"}},
    {"name": "counts", "type": {"type": "map", "values": "int"}},
    {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}}
]}"""
PARSED = fastavro.parse_schema(json.loads(ORDER))


def order(number: int) -> dict[str, Any]:
    """Return an order, as fastavro reads it."""
    return {
        "id": number,
        "item": None if number % 3 == 0 else f"item {number} ü",
        "price": Decimal(number * 7 - 50).scaleb(-2),
        "day": date(2026, 11, 1 + number % 28),
        "at": datetime(2026, 11, 25, 12, 0, number % 60, 123000, tzinfo=timezone.utc),
        "tags": [f"t{n}" for n in range(number % 4)],
        "counts": {f"k{n}": n for n in range(number % 3)},
        "state": "PAID" if number % 2 else "NEW",
    }


def encode(record: dict[str, Any]) -> bytes:
    """Encode an order without an id of its schema."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, PARSED, record)
    return out.getvalue()


def given(**options: Any) -> Avro:
    """Return a format for orders without ids."""
    return Avro(schema=ORDER, wire_format="none", **options)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]


@pytest.fixture
def orders(mock_cluster: MockCluster, single: str) -> str:
    """A topic with ten orders."""
    mock_cluster.append(single, 0, [encode(order(n)) for n in range(10)])
    return single


def rows(batch: Any) -> list[dict[str, Any]]:
    """Return the decoded values of a batch."""
    values: list[dict[str, Any]] = pa.record_batch(batch).column("value").to_pylist()
    for value in values:
        if value is not None:
            value["counts"] = dict(value["counts"])
    return values


def test_columns_are_what_fastavro_reads(mock_cluster: MockCluster, orders: str, kind: Any) -> None:
    """The values of a poll are a struct column, equal to fastavro's objects."""
    with kind(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(orders, 0)])
        batch = consumer.poll_arrow(
            timeout=TIMEOUT, columns=["offset", "value"], value_format=given()
        )
    assert batch.column_names == ["offset", "value"]
    assert rows(batch) == [order(n) for n in range(10)]
    # Without an Arrow library, too.
    assert [row[1] for row in batch.rows()] == [order(n) for n in range(10)]


def test_records_are_what_fastavro_reads(mock_cluster: MockCluster, orders: str, kind: Any) -> None:
    """A format is a deserializer, too; null stays None."""
    mock_cluster.append(orders, 0, [encode(order(10))])
    config = {"auto.offset.reset": "earliest", "max.poll.records": 4}
    with kind(mock_cluster.bootstrap, config, value_deserializer=given()) as consumer:
        consumer.assign([(orders, 0)])
        values: list[Any] = []
        while len(values) < 11:
            polled = consumer.poll(timeout=TIMEOUT)
            assert 0 < len(polled) <= 4
            values += [record.value for record in polled]
    assert values == [order(n) for n in range(11)]


def test_a_malformed_value_is_an_error_with_its_place(
    mock_cluster: MockCluster, orders: str, kind: Any
) -> None:
    """Rows before it are returned, the position stays before it, and ``seek`` passes it."""
    mock_cluster.append(orders, 0, [b"\x02", encode(order(11))])
    value = given()
    with kind(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(orders, 0)])
        assert len(rows(consumer.poll_arrow(timeout=TIMEOUT, value_format=value))) == 10
        for _ in range(2):
            with pytest.raises(
                errors.SerializationError, match="value cannot be decoded"
            ) as caught:
                consumer.poll_arrow(timeout=TIMEOUT, value_format=value)
            assert caught.value.context == {"topic": orders, "partition": 0, "offset": 10}
        assert consumer.position(orders, 0) == 10
        consumer.seek(orders, 0, 11)
        assert rows(consumer.poll_arrow(timeout=TIMEOUT, value_format=value)) == [order(11)]
    with kind(
        mock_cluster.bootstrap, auto_offset_reset="earliest", value_deserializer=value
    ) as consumer:
        consumer.assign([(orders, 0)])
        assert len(consumer.poll(timeout=TIMEOUT)) == 10
        with pytest.raises(errors.SerializationError) as caught:
            consumer.poll(timeout=TIMEOUT)
        assert caught.value.context == {"topic": orders, "partition": 0, "offset": 10}
        consumer.seek(orders, 0, 11)
        assert [record.value for record in consumer.poll(timeout=TIMEOUT)] == [order(11)]


def test_permissive_columns_say_what_is_wrong(mock_cluster: MockCluster, orders: str) -> None:
    """A malformed value is null, and the column of errors has the reason."""
    mock_cluster.append(orders, 0, [b"\x02"])
    with ottla.Consumer(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(orders, 0)])
        value = given(mode="permissive")
        batch = consumer.poll_arrow(timeout=TIMEOUT, columns=["value"], value_format=value)
    table = pa.record_batch(batch)
    assert table.column_names == ["value", "_error"]
    assert rows(batch) == [*(order(n) for n in range(10)), None]
    reasons = table.column("_error").to_pylist()
    assert reasons[:10] == [None] * 10
    assert reasons[10].startswith("value: ")


def test_a_scan_is_a_typed_stream(mock_cluster: MockCluster, orders: str) -> None:
    """Its schema is known before its first batch, also to polars."""
    scan = ottla.scan(orders, mock_cluster.bootstrap, columns=["value"], value_format=given())
    reader = pa.RecordBatchReader.from_stream(scan)
    assert reader.schema.field("value").type.field("price").type == pa.decimal128(9, 2)
    assert rows(reader.read_all().combine_chunks().to_batches()[0]) == [order(n) for n in range(10)]
    scan = ottla.scan(orders, mock_cluster.bootstrap, columns=["value"], value_format=given())
    frame = pl.DataFrame(scan).unnest("value")
    assert frame["id"].to_list() == list(range(10))
    assert frame["price"].to_list() == [order(n)["price"] for n in range(10)]


def test_one_value_is_decoded_by_itself(orders: str) -> None:
    """A format decodes bytes that come from elsewhere."""
    assert given().deserialize(orders, encode(order(5))) == order(5)
    with pytest.raises(errors.SerializationError, match="cannot be decoded"):
        given().deserialize(orders, b"\x02")


def test_keys_have_a_format_of_their_own(mock_cluster: MockCluster, single: str) -> None:
    """Keys are decoded beside values, and one object serves both."""
    text = Avro(schema='"string"', wire_format="none")
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        producer.send(single, key=b"\x02k", value=b"\x02v")
        producer.send(single, key=None, value=None)
    scan = ottla.scan(
        single, mock_cluster.bootstrap, columns=["key", "value"], key_format=text, value_format=text
    )
    assert pa.RecordBatchReader.from_stream(scan).read_all().to_pylist() == [
        {"key": "k", "value": "v"},
        {"key": None, "value": None},
    ]


def test_fields_are_selected(mock_cluster: MockCluster, orders: str, kind: Any) -> None:
    """Columns and objects have the selected fields, in the order of the schema."""
    value = given(fields=["state", "price", "id"])
    expected = [{key: order(n)[key] for key in ("id", "price", "state")} for n in range(10)]
    with kind(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(orders, 0)])
        batch = consumer.poll_arrow(timeout=TIMEOUT, columns=["value"], value_format=value)
    assert pa.record_batch(batch).column("value").to_pylist() == expected
    config = {"auto.offset.reset": "earliest"}
    with kind(mock_cluster.bootstrap, config, value_deserializer=value) as consumer:
        consumer.assign([(orders, 0)])
        records = [record.value for record in consumer.poll(timeout=TIMEOUT)]
    assert [list(record) for record in records] == [["id", "price", "state"]] * 10
    assert records == expected
    with pytest.raises(errors.SchemaError, match='no field "sate"; similar names are state'):
        given(fields=["sate"]).deserialize(orders, encode(order(1)))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "need a schema registry"),
        ({"schema": ORDER}, "need a schema registry"),
        ({"wire_format": "none"}, "need a schema registry"),
        ({"schema": ORDER, "version": 1}, "either schema or version"),
        ({"schema": ORDER, "wire_format": "xml"}, 'wire_format="xml": expected one of "confluent"'),
        ({"schema": ORDER, "mode": "lenient"}, "mode='lenient': expected \"failfast\""),
        ({"schema": ORDER, "wire_format": "none", "fields": []}, "fields: none were given"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], expected: str) -> None:
    """The error comes when the format is created."""
    with pytest.raises(errors.ConfigError, match=expected):
        Avro(**options)


def test_wrong_uses_are_refused(mock_cluster: MockCluster, orders: str) -> None:
    """A format needs its column, a usable schema and a consumer that supports it."""
    with ottla.Consumer(mock_cluster.bootstrap) as consumer:
        with pytest.raises(errors.ConfigError, match='columns does not list "value"'):
            consumer.poll_arrow(columns=["offset"], value_format=given())
        with pytest.raises(TypeError):
            consumer.poll_arrow(value_format="avro")  # type: ignore[arg-type]
    with pytest.raises(errors.ConfigError, match="use poll_arrow"):
        ottla.Consumer(mock_cluster.bootstrap, value_deserializer=given(mode="permissive"))
    recursive = (
        '{"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}'
    )
    with pytest.raises(errors.SchemaError, match="recursive"):
        ottla.scan(
            orders, mock_cluster.bootstrap, value_format=Avro(schema=recursive, wire_format="none")
        )


def test_a_format_says_its_mode(mock_cluster: MockCluster) -> None:
    modes: list[Any] = [
        ("failfast", "failfast"),
        ("permissive", "permissive"),
        (DeadLetters("dead", mock_cluster.bootstrap), "dead-letters"),
    ]
    for mode, name in modes:
        assert Avro(schema='"int"', wire_format="none", mode=mode).mode == name
