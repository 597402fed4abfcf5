"""The stand-in's serializers of Avro write the bytes and read the values of confluent-kafka's."""

from __future__ import annotations

import sys
import uuid
from datetime import date
from typing import Any

import pytest

from ottla.compat.confluent_kafka.schema_registry._avro_codec import _ottla_format, decoder
from tests.support.avro_values import random_schemas
from tests.support.registry_layers import ORIGINAL, OURS, Layer, both, outcome
from tests.support.registry_orders import LIST, ORDER, PETS, RECORD, text_of

CASES: list[tuple[Any, Any]] = [
    (RECORD, ORDER),
    (RECORD, {key: value for key, value in ORDER.items() if key != "note"}),
    (LIST, {"value": 1, "next": {"value": 2, "next": None}}),
    (PETS, {"bark": "wow"}),
    (PETS, ("Cat", {"lives": 7})),
    (["int", "string", "null"], "text"),
    ({"type": "string", "logicalType": "uuid"}, uuid.UUID(int=77)),
    ({"type": "int", "logicalType": "date"}, date(2026, 2, 3)),
    ({"type": "map", "values": ["null", "double"]}, {"a": 1.5, "b": None}),
    ({"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}, "BLUE"),
    ({"type": "array", "items": {"type": "fixed", "name": "Id", "size": 2}}, [b"ab", b"cd"]),
    ("bytes", b"\x00\x01"),
    ("string", "plain"),
    ("long", 1 << 40),
    ("boolean", True),
]


@pytest.mark.parametrize(("schema", "value"), CASES)
def test_bytes_and_values_are_the_originals(
    registry_clients: dict[str, Any], schema: Any, value: Any
) -> None:
    """Each reads what the other wrote, for a new record and for one of a known schema."""
    payloads, values = [], []
    for layer in (ORIGINAL, OURS):
        serialize = layer.AvroSerializer(registry_clients[layer.root], text_of(schema))
        context = layer.value_context()
        payloads.append([serialize(value, context) for _ in range(2)])
    assert payloads[0] == payloads[1]
    for layer in (ORIGINAL, OURS):
        for named in (False, True):
            deserialize = layer.AvroDeserializer(
                registry_clients[layer.root], None, None, return_record_name=named
            )
            context = layer.value_context()
            values.append([deserialize(data, context) for data in payloads[0]])
    assert values[:2] == values[2:]
    assert [type(item) for item in values[0]] == [type(item) for item in values[2]]


def test_ottlas_decoder_is_used_only_where_its_values_are_fastavros() -> None:
    used = 0
    for text, schema, payloads in random_schemas(seed=3, count=150):
        ours = _ottla_format(text)
        theirs = decoder(schema, None, None, False, raw_bytes=False)
        used += ours is not None
        for payload in payloads:
            expected = theirs(payload)
            found = expected if ours is None else ours.deserialize("", payload)
            assert repr(found) == repr(expected), text
    assert used > 100
    for schema in (LIST, PETS, {"type": "string", "logicalType": "uuid"}, {"type": "x"}):
        assert _ottla_format(text_of(schema)) is None


def test_records_are_read_by_the_readers_schema(registry_clients: dict[str, Any]) -> None:
    reader = {
        **RECORD,
        "fields": [
            {"name": "id", "type": "double"},
            {"name": "added", "type": "string", "default": "new"},
            {"name": "comment", "aliases": ["note"], "type": ["null", "string"]},
        ],
    }
    found = []
    for layer in (ORIGINAL, OURS):
        client, context = registry_clients[layer.root], layer.value_context()
        payload = layer.AvroSerializer(client, text_of(RECORD))(ORDER, context)
        read = layer.AvroDeserializer(client, text_of(reader))
        found.append([read(payload, context), read(payload, context)])
    assert found[0] == found[1]
    assert found[1][1] == {"id": 7.0, "added": "new", "comment": "é"}


@both
def test_references_are_resolved(layer: str, registry_clients: dict[str, Any]) -> None:
    names, client = Layer(layer), registry_clients[layer]
    client.register_schema("item", names.Schema(text_of(PETS[0])))
    text = {"type": "record", "name": "Home", "fields": [{"name": "pet", "type": "Cat"}]}
    schema = names.Schema(text_of(text), "AVRO", [names.SchemaReference("Cat", "item", 1)])
    context = names.value_context()
    payload = names.AvroSerializer(client, schema)({"pet": {"lives": 3}}, context)
    assert names.AvroDeserializer(client)(payload, context) == {"pet": {"lives": 3}}
    assert payload[5:] == b"\x06"


@pytest.mark.parametrize(
    "data", [b"", b"\x00\x00\x00\x00\x01", b"\x05\x00\x00\x00\x01xx", b"\x00\x00\x00\x00\x09xx"]
)
def test_malformed_payloads_are_the_originals_errors(
    data: bytes, registry_clients: dict[str, Any]
) -> None:
    found = []
    for layer in (ORIGINAL, OURS):
        client, context = registry_clients[layer.root], layer.value_context()
        layer.AvroSerializer(client, text_of(RECORD))(ORDER, context)
        read = layer.AvroDeserializer(client)
        found.append([outcome(read, data, context), outcome(read, data, None)])
        assert read(None, context) is None
    assert found[0] == found[1]


def test_truncated_payloads_are_the_originals_errors(registry_clients: dict[str, Any]) -> None:
    """Programs catch fastavro's EOFError; bytes after the value are ignored, as it does."""
    found = []
    for layer in (ORIGINAL, OURS):
        client, context = registry_clients[layer.root], layer.value_context()
        payload = layer.AvroSerializer(client, text_of(RECORD))(ORDER, context)
        read = layer.AvroDeserializer(client)
        cut = [outcome(read, payload[:length], context) for length in range(6, len(payload))]
        found.append([*cut, outcome(read, payload + b"\x00", context), read(payload, context)])
    assert found[0] == found[1]
    assert ("EOFError", None, None) in found[1]
    assert found[1][-1] == ORDER


@both
def test_objects_are_converted(layer: str, registry_clients: dict[str, Any]) -> None:
    names, client = Layer(layer), registry_clients[layer]
    context = names.value_context()

    def to_dict(obj: Any, ctx: Any) -> dict[str, Any]:
        assert ctx is context
        return {**ORDER, "id": obj}

    serialize = names.AvroSerializer(client, text_of(RECORD), to_dict)
    read = names.AvroDeserializer(client, None, lambda value, ctx: (value["id"], ctx.topic))
    for number in (1, 2):
        assert read(serialize(number, context), context) == (number, "orders")
    assert serialize(None, context) is None
    with pytest.raises(ValueError, match="to_dict must be callable"):
        names.AvroSerializer(client, text_of(RECORD), 1)


def test_simple_schemas_need_no_other_library(
    registry_clients: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "fastavro"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "fastavro", None)
    client, context = registry_clients[OURS.root], OURS.value_context()
    payload = OURS.AvroSerializer(client, text_of(RECORD))(ORDER, context)
    read = OURS.AvroDeserializer(client)
    assert read(payload, context) == ORDER
    with pytest.raises(OURS.SerializationError, match=r"it ends within the value$"):
        read(payload[:-1], context)
    with pytest.raises(OURS.SerializationError, match="fastavro"):
        OURS.AvroSerializer(client, text_of(PETS))({"lives": 1}, OURS.value_context("pets"))
