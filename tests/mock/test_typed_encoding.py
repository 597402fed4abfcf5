"""Encoding with a schema: serializers and typed Arrow columns, read back by ours and Confluent's.

A schema is registered only if that was asked for; a value that does not fit is an error before
anything is sent.
"""

from __future__ import annotations

import asyncio
import json
import random
from datetime import date, datetime, time, timezone
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

import ottla
from ottla import errors
from ottla.schema import Avro, Json, Protobuf, Registry, Schema
from ottla.testing import MockCluster, MockRegistry, RegistryFault
from tests.support import protobuf_messages as shop

ORDER = """{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"},
    {"name": "item", "type": ["null", "string"], "default": null},
    {"name": "price", "type":
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "noon", "type": {"type": "int", "logicalType": "time-millis"}},
    {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
    {"name": "counts", "type": {"type": "map", "values": "int"}},
    {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
    {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 4}},
    {"name": "other", "type": ["int", "string", {"type": "array", "items": "double"}]},
    {"name": "note", "type": "string", "default": "none"}
]}"""


def order(number: int) -> dict[str, Any]:
    """Return an order, without what has a default."""
    return {
        "id": number * (-1) ** number,
        "item": None if number % 3 == 0 else f"item {number} ü",
        "price": Decimal(number * 7 - 50).scaleb(-2),
        "day": date(2026, 11, 1 + number % 28),
        "at": datetime(2026, 11, 25, 12, 0, number % 60, 123000, tzinfo=timezone.utc),
        "noon": time(12, 0, number % 60, 5000),
        "tags": [None if n == 1 else f"t{n}" for n in range(number % 4)],
        "counts": {f"k{n}": n for n in range(number % 3)},
        "state": "PAID" if number % 2 else "NEW",
        "hash": bytes([number] * 4),
        "other": (number, f"text {number}", [0.5, float(number)])[number % 3],
    }


def read(number: int) -> dict[str, Any]:
    """Return what is read of an order."""
    one = order(number)
    members = dict.fromkeys(("member0", "member1", "member2"))
    return {**one, "other": {**members, f"member{number % 3}": one["other"]}, "note": "none"}


@pytest.fixture
def registry(mock_registry: MockRegistry) -> Registry:
    """A client of the mock registry."""
    return Registry(mock_registry.url)


def deserializer(kind: Any, registry: MockRegistry, *args: Any) -> Any:
    """Return a function that decodes values of the topic t with Confluent's deserializer."""
    client = SchemaRegistryClient({"url": registry.url})
    if kind is ProtobufDeserializer:
        decode = kind(*args, {"use.deprecated.format": False}, client)
    elif kind is JSONDeserializer:
        decode = kind(*args, schema_registry_client=client)
    else:
        decode = kind(client)
    context = SerializationContext("t", MessageField.VALUE)
    return lambda value: decode(value, context)


def test_avro_is_read_by_confluents_deserializer(
    mock_registry: MockRegistry, registry: Registry
) -> None:
    """Every logical type, unions, defaults and nested values are what was encoded."""
    value = Avro(registry, schema=ORDER, register=True)
    decode = deserializer(AvroDeserializer, mock_registry)
    for number in range(20):
        encoded = value.serialize("t", order(number))
        assert encoded is not None
        assert encoded[:5] == b"\0\0\0\0\1"
        assert decode(encoded) == {**order(number), "note": "none"}
        assert value.deserialize("t", encoded) == read(number)
    assert mock_registry.subjects() == ["t-value"]
    assert value.serialize("t", None) is None


def test_protobuf_is_read_by_confluents_deserializer(
    mock_registry: MockRegistry, registry: Registry
) -> None:
    """Messages of a generated class become the bytes that google.protobuf reads."""
    classes = shop.classes()
    value = Protobuf(registry, schema=classes["Order"], register=True)
    decode = deserializer(ProtobufDeserializer, mock_registry, classes["Order"])
    source = random.Random(2)
    for _ in range(50):
        message = shop.fill(classes["Order"](), source)
        for one in (message.at, message.took, *message.times):
            # Python's datetime has microseconds.
            one.nanos -= one.nanos % 1000
        plain = value.deserialize("t", value_of(value, message))
        encoded = value.serialize("t", plain)
        assert decode(encoded) == message


def value_of(value_format: Protobuf, message: Any) -> bytes:
    """Return a message with the prefix of an empty one."""
    empty = value_format.serialize("t", {})
    assert empty is not None
    serialized: bytes = message.SerializeToString()
    return empty + serialized


def test_json_is_read_by_confluents_deserializer(
    mock_registry: MockRegistry, registry: Registry
) -> None:
    """JSON is valid under its schema, which Confluent's deserializer checks."""
    schema = {
        "title": "Order",
        "type": "object",
        "required": ["id", "lines"],
        "additionalProperties": False,
        "properties": {
            "id": {"type": "integer"},
            "name": {"type": "string"},
            "price": {"type": ["number", "null"]},
            "lines": {"type": "array", "items": {"properties": {"sku": {"type": "string"}}}},
        },
    }
    value = Json(registry, schema=json.dumps(schema), register=True)
    decode = deserializer(JSONDeserializer, mock_registry, json.dumps(schema))
    for one in (
        {"id": 1, "name": 'ü"\\', "price": 0.5, "lines": [{"sku": "a"}, {"sku": "b"}]},
        {"id": -(2**60), "lines": []},
    ):
        assert decode(value.serialize("t", one)) == one


def test_serializers_send_and_consumers_read(
    mock_cluster: MockCluster, registry: Registry, single: str
) -> None:
    """A format is the serializer of a producer and the deserializer of a consumer."""
    key = Avro(registry, schema='"long"', register=True)
    value = Avro(registry, schema=ORDER, register=True)
    serializers: dict[str, Any] = {"key_serializer": key, "value_serializer": value}
    with ottla.Producer(mock_cluster.bootstrap, **serializers) as producer:
        producer.send(single, order(0), 0).result()
        producer.send(single, None, 1).result()
        producer.send_batch(single, [order(2), None], [2, 3]).result()

    async def send() -> None:
        async with ottla.AsyncProducer(mock_cluster.bootstrap, **serializers) as producer:
            await producer.send(single, order(4), 4)

    asyncio.run(send())
    reader: dict[str, Any] = {"key_deserializer": key, "value_deserializer": Avro(registry)}
    with ottla.Consumer(mock_cluster.bootstrap, auto_offset_reset="earliest", **reader) as consumer:
        consumer.assign([(single, 0)])
        records: list[Any] = []
        while len(records) < 5:
            records += consumer.poll(timeout=30.0)
    assert [record.key for record in records] == [0, 1, 2, 3, 4]
    assert [record.value for record in records] == [read(0), None, read(2), None, read(4)]
    assert registry.subjects() == [f"{single}-key", f"{single}-value"]


FRAME = pl.DataFrame({"id": [1, 2, 3], "name": ["a", None, "ü"]})
ROW = """{"type": "record", "name": "Row", "fields": [
    {"name": "name", "type": ["null", "string"]}, {"name": "id", "type": "long"}]}"""


def read_rows(bootstrap: str, topic: str, value: Any) -> list[Any]:
    """Return all values of a topic."""
    rows: list[Any] = pa.table(ottla.scan(topic, bootstrap, value_format=value))[
        "value"
    ].to_pylist()
    return rows


@pytest.mark.parametrize("as_async", [False, True])
@pytest.mark.parametrize("form", ["frame", "struct", "record"])
def test_typed_columns_are_encoded(
    mock_cluster: MockCluster, registry: Registry, single: str, form: str, as_async: bool
) -> None:
    """A frame, its rows as one struct column, or a table of a record's columns."""
    value = Avro(registry, schema=ROW, register=True)
    rows = FRAME.select(pl.struct("id", "name").alias("value"))
    values: Any = {
        "frame": FRAME,
        "struct": rows["value"].to_arrow(),
        "record": rows.with_columns(key=pl.lit(b"k"), partition=pl.lit(0, pl.Int32)),
    }[form]
    if as_async:

        async def send() -> None:
            async with ottla.AsyncProducer(mock_cluster.bootstrap) as producer:
                await (await producer.send_batch(single, values, value_format=value)).result()

        asyncio.run(send())
    else:
        with ottla.Producer(mock_cluster.bootstrap, value_serializer=value) as producer:
            assert producer.send_batch(single, values).result() == 3
    assert read_rows(mock_cluster.bootstrap, single, Avro(registry)) == [
        {"name": "a", "id": 1},
        {"name": None, "id": 2},
        {"name": "ü", "id": 3},
    ]


def test_decoded_columns_are_encoded_again(
    mock_cluster: MockCluster, registry: Registry, single: str
) -> None:
    """What one format decodes, another one encodes: Avro becomes Protobuf and JSON."""
    value = Avro(registry, schema=ROW, register=True)
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        producer.send_batch(single, FRAME, value_format=value).result()
        with ottla.Consumer(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
            consumer.assign([(single, 0)])
            batch = pa.record_batch(
                consumer.poll_arrow(timeout=30.0, columns=["value"], value_format=value)
            )
        message = 'syntax = "proto3"; message Row { optional string name = 1; int64 id = 2; }'
        schema = '{"properties": {"name": {"type": "string"}, "id": {"type": "integer"}}}'
        for name, other in (
            ("proto", Protobuf(registry, schema=message, register=True)),
            ("json", Json(registry, schema=schema, register=True)),
        ):
            mock_cluster.create_topic(name, partitions=1)
            producer.send_batch(name, batch, value_format=other).result()
            assert read_rows(mock_cluster.bootstrap, name, other) == [
                {"name": "a", "id": 1},
                {"name": None, "id": 2},
                {"name": "ü", "id": 3},
            ]


def test_a_schema_is_registered_only_if_asked(
    mock_registry: MockRegistry, registry: Registry
) -> None:
    """Without register=True, the schema must be there; an incompatible one is refused."""
    with pytest.raises(errors.SchemaError, match=r"subject \"t-value\" does not exist.*register="):
        Avro(registry, schema=ROW).serialize("t", {"id": 1, "name": None})
    assert mock_registry.subjects() == []
    registered = registry.register("t-value", Schema(ROW))
    encoded = Avro(registry, schema=ROW).serialize("t", {"id": 1, "name": None})
    assert Avro(registry).serialize("t", {"id": 1, "name": None}) == encoded
    assert Avro(registry, schema=1).serialize("u", {"id": 1, "name": None}) == encoded
    assert registered.id == 1
    mock_registry.refuse_changes("t-value")
    with pytest.raises(errors.SchemaError, match="incompatible with earlier versions"):
        Avro(registry, schema='"long"', register=True).serialize("t", 1)
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"schema": ROW, "wire_format": "none", "register": True}, "register=True needs"),
        ({"register": True}, "register=True needs"),
    ]
    for mistake, match in mistakes:
        with pytest.raises(errors.ConfigError, match=match):
            Avro(registry, **mistake)
    with pytest.raises(errors.ConfigError, match="leave fields out"):
        Avro(registry, fields=["id"]).serialize("t", {"id": 1})


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"idd": 1}, ValueError, 'no field "idd": its fields are id, item'),
        ({"id": "1"}, TypeError, "field id: expected an int, not str"),
        ({"id": True}, TypeError, "field id: expected an int, not bool"),
        ({"id": 2**63}, ValueError, "field id: 9223372036854775808 does not fit"),
        ({"price": Decimal("0.001")}, ValueError, "field price: 0.001 has more than 2 digits"),
        ({"price": Decimal("NaN")}, ValueError, "field price: NaN is not a number"),
        ({"price": 0.5}, TypeError, "field price: expected a decimal"),
        ({"at": datetime(2026, 1, 1)}, ValueError, "field at: .*with a time zone"),  # noqa: DTZ001
        ({"noon": time(0, 0, 0, 1)}, ValueError, "field noon: .*has microseconds"),
        ({"day": datetime(2026, 1, 1, tzinfo=timezone.utc)}, TypeError, "a datetime.date"),
        ({"tags": "text"}, TypeError, "field tags: expected a list, not str"),
        ({"tags": [1]}, TypeError, "field tags: expected a str, not int"),
        ({"counts": {1: 1}}, TypeError, r"field counts\.key: expected a str, not int"),
        ({"counts": {"a": None}}, errors.SerializationError, "counts"),
        ({"state": "OLD"}, errors.SerializationError, "OLD"),
        ({"hash": b"12345"}, ValueError, "field hash: it has 5 bytes, not 4"),
        ({"other": {}}, TypeError, "field other: expected a value of one of the union's types"),
        ({"id": None}, errors.SerializationError, "id"),
    ],
)
def test_what_does_not_fit_names_the_field(
    registry: Registry, mock_cluster: MockCluster, single: str, change: Any, error: Any, match: str
) -> None:
    """As an error of `serialize`, and as the cause of a SerializationError of `send`."""
    value = Avro(registry, schema=ORDER, register=True)
    with pytest.raises(error, match=match):
        value.serialize(single, {**order(1), **change})
    with ottla.Producer(mock_cluster.bootstrap, value_serializer=value) as producer:
        with pytest.raises(errors.SerializationError, match=match):
            producer.send(single, {**order(1), **change})
        with pytest.raises(errors.SerializationError) as failed:
            producer.send_batch(single, [order(0), {**order(1), **change}])
        assert failed.value.context["index"] == 1
    assert mock_cluster.end_offset(single, 0) == 0


def test_rows_and_columns_that_do_not_fit(
    registry: Registry, mock_cluster: MockCluster, single: str
) -> None:
    """A row names its number, a column its field; nothing of the batch is sent."""
    value = Avro(registry, schema=ROW, register=True)
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        null = pl.DataFrame({"id": [1, None], "name": ["a", "b"]})
        with pytest.raises(errors.SerializationError, match="value in row 1 cannot be encoded"):
            producer.send_batch(single, null, value_format=value)
        for frame, match in (
            (FRAME.with_columns(extra=1), "extra"),
            (FRAME.drop("id"), "field id"),
            (FRAME.with_columns(id=pl.lit("x")), "field id"),
        ):
            with pytest.raises(errors.SchemaError, match=match):
                producer.send_batch(single, frame, value_format=value)
        with pytest.raises(errors.ConfigError, match="encode Arrow columns"):
            producer.send_batch(single, [{"id": 1}], value_format=value)
    assert mock_cluster.end_offset(single, 0) == 0


def test_a_registry_that_is_down_is_an_error_of_the_call(
    mock_registry: MockRegistry, mock_cluster: MockCluster, single: str
) -> None:
    """It is raised as it is, nothing is sent, and the next call succeeds."""
    registry = Registry(mock_registry.url, default_api_timeout_ms=300, retry_backoff_ms=20)
    value = Avro(registry, schema=ROW, register=True)
    mock_registry.inject(RegistryFault.status(503, code=50001))
    with ottla.Producer(mock_cluster.bootstrap, value_serializer=value) as producer:
        for send in (
            lambda: producer.send(single, {"id": 1, "name": None}),
            lambda: producer.send_batch(single, [{"id": 1, "name": None}]),
            lambda: producer.send_batch(single, FRAME),
        ):
            with pytest.raises(errors.TimeoutError, match="registering a schema"):
                send()
        mock_registry.clear_faults()
        producer.send(single, {"id": 1, "name": None}).result()
    assert mock_cluster.end_offset(single, 0) == 1


def test_structs_without_values_need_no_fields() -> None:
    """An empty list or map of structs, and a struct that is None, lack none of their fields."""
    item = {"type": "record", "name": "I", "fields": [{"name": "n", "type": "long"}]}
    fields: list[dict[str, Any]] = [
        {"name": "list", "type": {"type": "array", "items": item}},
        {"name": "map", "type": {"type": "map", "values": "I"}},
        {"name": "maybe", "type": ["null", "I"]},
    ]
    avro = json.dumps({"type": "record", "name": "R", "fields": fields})
    entry = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    json_schema = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": entry},
            "map": {"type": "object", "additionalProperties": entry},
            "maybe": {"oneOf": [{"type": "null"}, entry]},
        },
    }
    formats = [
        Avro(schema=avro, wire_format="none"),
        Json(schema=json.dumps(json_schema), wire_format="none"),
    ]
    full: dict[str, Any] = {"list": [{"n": 1}], "map": {"a": {"n": 2}}, "maybe": {"n": 3}}
    empty: dict[str, Any] = {"list": [], "map": {}, "maybe": None}
    for one in formats:
        for value in (empty, full, {**full, "list": []}, {**empty, "maybe": {"n": 3}}):
            data = one.serialize("t", value)
            assert data is not None
            assert one.deserialize("t", data) == value
        with pytest.raises(errors.SerializationError, match="n: "):
            one.serialize("t", {**empty, "list": [{}]})
