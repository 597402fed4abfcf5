"""Keys and values in JSON: of a JSON Schema, of an Arrow type, and of an inferred type."""

from __future__ import annotations

import json
import random
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import ottla
from ottla import errors
from ottla.schema import ArrowType, Json, infer_json
from ottla.testing import MockCluster
from tests.support.consumers import KINDS, TIMEOUT

SCHEMA = """{"type": "object", "required": ["id"], "properties": {
    "id": {"type": "integer"},
    "name": {"type": ["string", "null"]},
    "price": {"type": "number"},
    "paid": {"type": "boolean"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
    "customer": {"type": "object", "properties": {
        "name": {"type": "string"},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}}}},
    "items": {"type": "array", "items": {"type": "object", "properties": {
        "price": {"type": "number"}, "name": {"type": "string"}}}},
    "any": {}}}"""

TYPE = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("small", pa.int8()),
        pa.field("large", pa.uint64()),
        pa.field("price", pa.decimal128(20, 4)),
        pa.field("huge", pa.decimal256(60, 2)),
        pa.field("ratio", pa.float32()),
        pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("us", "UTC")),
        pa.field("local", pa.timestamp("ms")),
        pa.field("name", pa.large_string()),
        pa.field("view", pa.string_view()),
        pa.field("any", pa.json_()),
        pa.field("tags", pa.large_list(pa.string())),
        pa.field("counts", pa.map_(pa.string(), pa.list_(pa.uint8()))),
        pa.field("inner", pa.struct({"x": pa.bool_()})),
    ]
)
TEXT = """{"id": 7, "small": -128, "large": 18446744073709551615, "price": 12345.6789,
    "huge": "-1e40", "ratio": 1.5, "day": "2026-11-25", "at": "2026-11-25T12:00:00.123456+01:00",
    "local": "2026-11-25T12:00:00.5", "name": "ü", "view": "😀 of some length",
    "any": {"a": [1, null]}, "tags": ["a", null], "counts": {"k": [1, 255], "l": null},
    "inner": {"x": true, "unknown": 5}, "unknown": [1]}"""
VALUE = {
    "id": 7,
    "small": -128,
    "large": 2**64 - 1,
    "price": Decimal("12345.6789"),
    "huge": Decimal("-1e40"),
    "ratio": 1.5,
    "day": date(2026, 11, 25),
    "at": datetime(2026, 11, 25, 11, 0, 0, 123456, tzinfo=timezone.utc),
    "local": datetime(2026, 11, 25, 12, 0, 0, 500000),  # noqa: DTZ001 - it has no offset
    "name": "ü",
    "view": "😀 of some length",
    "any": '{"a": [1, null]}',
    "tags": ["a", None],
    "counts": {"k": [1, 255], "l": None},
    "inner": {"x": True},
}


def order(source: random.Random) -> dict[str, Any]:
    """Return a random order, some of whose keys are missing."""
    name = source.choice(["", "pen", "ü😀\n\u2028"])
    whole = {
        "name": source.choice([None, name]),
        "price": source.choice([0.5, -1e300, 7, source.random()]),
        "paid": source.random() < 0.5,
        "tags": [name] * source.randrange(3),
        "counts": {f"k{n}": source.randrange(-(2**63), 2**63) for n in range(source.randrange(3))},
        "customer": {"name": name, "address": {"city": source.choice(["Bern", "Zürich"])}},
        "items": [{"price": n / 2, "name": name} for n in range(source.randrange(3))],
        "any": source.choice([1, "x", {"a": [None]}, [], None]),
    }
    kept = {key: value for key, value in whole.items() if source.random() < 0.8}
    return {"id": source.randrange(2**40), **kept}


def expected(value: dict[str, Any]) -> dict[str, Any]:
    """Return what is decoded from an order."""
    keys = ["id", "name", "price", "paid", "tags", "counts", "customer", "items"]
    decoded = {key: value.get(key) for key in keys}
    text = value.get("any")
    # Text of any JSON is kept as it was written.
    return {**decoded, "any": None if text is None else json.dumps(text)}


def given(**options: Any) -> Json:
    """Return a format for orders without ids."""
    return Json(**{"schema": SCHEMA, "wire_format": "none", **options})


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]


def test_columns_and_records_are_what_json_reads(
    mock_cluster: MockCluster, single: str, kind: Any
) -> None:
    """A poll, a poll to Arrow and a scan decode what Python's json wrote, with any spacing."""
    source = random.Random(1)
    values = [order(source) for _ in range(100)]
    rows = [json.dumps(value, ensure_ascii=source.random() < 0.5) for value in values]
    mock_cluster.append(single, 0, [row.encode() for row in rows])
    decoded = [expected(value) for value in values]
    with kind(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(single, 0)])
        batch = consumer.poll_arrow(timeout=TIMEOUT, columns=["value"], value_format=given())
    texts = [
        {**row[0], "any": row[0]["any"] and json.dumps(json.loads(row[0]["any"]))}
        for row in batch.rows()
    ]
    assert texts == decoded
    config = {"auto.offset.reset": "earliest"}
    fields = ["id", "customer.address.city", "items.price", "counts"]
    value = given(fields=fields)
    with kind(mock_cluster.bootstrap, config, value_deserializer=value) as consumer:
        consumer.assign([(single, 0)])
        records = [record.value for record in consumer.poll(timeout=TIMEOUT)]
    assert records == [selected(value) for value in decoded]
    scan = ottla.scan(single, mock_cluster.bootstrap, columns=["value"], value_format=given())
    frame = pl.DataFrame(scan).unnest("value")
    assert frame["id"].to_list() == [value["id"] for value in values]
    assert frame["name"].to_list() == [value["name"] for value in decoded]


def selected(value: dict[str, Any]) -> dict[str, Any]:
    """Return some fields of an order."""
    customer = value["customer"]
    items = value["items"]
    return {
        "id": value["id"],
        "counts": value["counts"],
        "customer": customer and {"address": {"city": customer["address"]["city"]}},
        "items": None if items is None else [{"price": item["price"]} for item in items],
    }


@pytest.mark.parametrize("source", ["schema", "field", "type"])
def test_values_have_the_given_arrow_type(source: str) -> None:
    """A schema, a field and a type of pyarrow are the type of the values."""
    struct = pa.struct(list(TYPE))
    given_type = {"schema": TYPE, "field": pa.field("v", struct), "type": struct}[source]
    decoder = given(schema=given_type)
    assert decoder.deserialize("orders", TEXT.encode()) == VALUE
    assert decoder.deserialize("orders", b"null") is None
    empty = decoder.deserialize("orders", b'{"id": 1}')
    assert empty == {**dict.fromkeys(VALUE), "id": 1}
    for bad, reason in [
        ("{}", r"\$.id: it is missing"),
        ('{"id": 1.5}', r"\$.id: expected an integer, found 1.5"),
        ('{"id": 1, "small": 128}', r"\$.small: 128 is beyond"),
        ('{"id": 1, "price": 0.00001}', r"\$.price: "),
        ('{"id": 1, "at": "2026-11-25T12:00:00"}', r"\$.at: .* is not a timestamp with an offset"),
        ('{"id": 1} x', "bytes are left"),
    ]:
        with pytest.raises(errors.SerializationError, match=reason):
            decoder.deserialize("orders", bad.encode())


def test_a_scan_has_the_given_arrow_type(mock_cluster: MockCluster, single: str) -> None:
    """The column has the type itself, and polars' types are types, too."""
    mock_cluster.append(single, 0, [TEXT.encode()])
    scan = ottla.scan(
        single, mock_cluster.bootstrap, columns=["value"], value_format=given(schema=TYPE)
    )
    table = pa.RecordBatchReader.from_stream(scan).read_all()
    plain = [field.with_type(pa.string()) if field.name == "any" else field for field in TYPE]
    assert table.schema.field("value").type == pa.struct(plain)
    assert table.column("value").to_pylist()[0]["price"] == VALUE["price"]
    types: Any = {"id": pl.Int64, "tags": pl.List(pl.String), "day": pl.Date}
    frame = pl.Schema(types)
    scan = ottla.scan(
        single, mock_cluster.bootstrap, columns=["value"], value_format=given(schema=frame)
    )
    assert pl.DataFrame(scan).unnest("value").rows() == [(7, ["a", None], VALUE["day"])]


def test_types_are_inferred_from_values(mock_cluster: MockCluster, single: str) -> None:
    """Lists, arrays, columns and batches have the same type, which decodes all of them."""
    source = random.Random(2)
    values = [order(source) for _ in range(60)]
    rows = [json.dumps(value).encode() for value in values]
    mock_cluster.append(single, 0, rows)
    with ottla.Consumer(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(single, 0)])
        batch = consumer.poll_arrow(timeout=TIMEOUT)
    inferred = infer_json(batch)
    assert isinstance(inferred, ArrowType)
    framed = [b"\x00\x00\x00\x00\x07" + row for row in rows]
    for same in [
        infer_json(rows),
        infer_json([*rows, None]),
        infer_json(iter([bytearray(row) for row in rows])),
        infer_json([row.decode() for row in rows]),
        infer_json(pa.array(rows)),
        infer_json(pa.array(rows, pa.large_binary())),
        infer_json(pa.chunked_array([rows[:5], [None, *rows[5:]]])),
        infer_json(pa.array([row.decode() for row in rows], pa.string_view())),
        infer_json(pl.Series(rows)),
        infer_json(pa.table({"x": rows}), column="x"),
        infer_json([b"no JSON", *rows]),
        infer_json(framed, wire_format="confluent"),
        # The id may be in a header.
        infer_json(rows, wire_format="confluent"),
    ]:
        assert same == inferred
    assert inferred != infer_json([b"1"])
    assert pa.field(inferred).type == pa.struct(list(pa.schema(inferred)))
    assert "id" in repr(inferred)
    scan = ottla.scan(
        single, mock_cluster.bootstrap, columns=["value"], value_format=given(schema=inferred)
    )
    frame = pl.DataFrame(scan).unnest("value")
    assert frame["id"].to_list() == [value["id"] for value in values]
    names = [(value.get("customer") or {}).get("name") for value in values]
    assert frame["customer"].struct.field("name").to_list() == names
    # Integers and other numbers are doubles; what differs is text.
    assert frame.schema["price"] == pl.Float64
    assert frame.schema["any"] == pl.String


def test_what_cannot_be_inferred_is_refused() -> None:
    """The error says what is wrong with the values."""
    for values, error, expected in [
        ([], errors.SchemaError, "there are no samples"),
        ([b"x", None], errors.SchemaError, "no sample is JSON; the first one: expected a value"),
        ([1], TypeError, r"values\[0\] is of type int: expected bytes, str or None"),
        (b"{}", TypeError, "values is one value"),
        ("{}", TypeError, "values is one value"),
        (5, errors.ArgumentTypeError, "is of type int: expected a list"),
        (pa.array([1]), TypeError, "an array of Int64: expected bytes or strings"),
        (pa.table({"x": [b"1"]}), errors.ConfigError, 'column="value": the table has x'),
    ]:
        with pytest.raises(error, match=expected):
            infer_json(values)
    with pytest.raises(errors.ConfigError, match='wire_format="xml": expected one of'):
        infer_json([b"1"], wire_format="xml")  # type: ignore[arg-type]


def test_a_malformed_value_is_an_error_with_its_place(
    mock_cluster: MockCluster, single: str
) -> None:
    """It is an error with its offset, or null with the reason; unselected keys are not checked."""
    mock_cluster.append(single, 0, [b'{"id": 1}', b'{"id": "x"}', b'{"id": 3, "paid": 5}'])
    with ottla.Consumer(
        mock_cluster.bootstrap, auto_offset_reset="earliest", value_deserializer=given()
    ) as consumer:
        consumer.assign([(single, 0)])
        [record] = consumer.poll(timeout=TIMEOUT)
        assert record.value == expected({"id": 1})
        with pytest.raises(errors.SerializationError, match="id: expected an integer") as caught:
            consumer.poll(timeout=TIMEOUT)
        assert caught.value.context == {"topic": single, "partition": 0, "offset": 1}
    value = given(mode="permissive", fields=["id"])
    scan = ottla.scan(single, mock_cluster.bootstrap, columns=["value"], value_format=value)
    table = pa.RecordBatchReader.from_stream(scan).read_all()
    assert table.column("value").to_pylist() == [{"id": 1}, None, {"id": 3}]
    reasons = table.column("_error").to_pylist()
    assert reasons[1].startswith("value: $.id")
    assert [reasons[0], reasons[2]] == [None, None]


@pytest.mark.parametrize(
    ("options", "error", "expected"),
    [
        ({"schema": None}, errors.ConfigError, "need a schema registry"),
        ({"schema": TYPE, "wire_format": "apicurio"}, errors.ConfigError, "need a schema registry"),
        ({"schema": TYPE, "version": 1}, errors.ConfigError, "either schema or version"),
        ({"schema": b"{}"}, TypeError, "schema is of type bytes: expected the text of a schema"),
        ({"fields": []}, errors.ConfigError, "fields: none were given"),
        ({"fields": ["`a"]}, errors.ConfigError, "is not closed"),
    ],
)
def test_wrong_arguments_are_refused(
    options: dict[str, Any], error: type[Exception], expected: str
) -> None:
    """The error comes when the format is created."""
    with pytest.raises(error, match=expected):
        given(**options)


def test_unusable_schemas_and_fields_are_refused(single: str) -> None:
    """The error comes when the schema is first used."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"fields": ["nmae"]}, 'no field "nmae"; similar names are name'),
        ({"fields": ["items.prise"]}, 'no field "prise" in items; similar names are price'),
        ({"fields": ["any.x"]}, 'no field "x" in any, which has no fields'),
        ({"schema": "{"}, "not a valid JSON schema"),
        ({"schema": pa.struct({"x": pa.duration("us")})}, "which JSON cannot be decoded to"),
    ]
    for options, reason in cases:
        with pytest.raises(errors.SchemaError, match=reason):
            given(**options).deserialize(single, b"{}")
