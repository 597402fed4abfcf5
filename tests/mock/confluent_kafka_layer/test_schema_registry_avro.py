"""The stand-in's serializers of Avro write the bytes and read the values of confluent-kafka's."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import uuid
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from ottla.compat.confluent_kafka.schema_registry._avro_codec import _ottla_format, decoder
from ottla.testing import MockRegistry
from tests.support.avro_values import random_schemas
from tests.support.registry_layers import NAMES, ORIGINAL, OURS, Layer, both, outcome

UTC = timezone.utc
RECORD = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}
ORDER = {
    "id": 7,
    "note": "é",
    "price": Decimal("12.50"),
    "at": datetime(2026, 1, 2, 3, 4, 5, 6000, UTC),
    "tags": ["a", "b"],
}
LIST = {
    "type": "record",
    "name": "Node",
    "fields": [{"name": "value", "type": "int"}, {"name": "next", "type": ["null", "Node"]}],
}
PETS = [
    {"type": "record", "name": "Cat", "fields": [{"name": "lives", "type": "int"}]},
    {"type": "record", "name": "Dog", "fields": [{"name": "bark", "type": "string"}]},
]
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


def text_of(schema: Any) -> str:
    return json.dumps(schema)


@pytest.fixture
def clients(mock_registry: MockRegistry) -> dict[str, Any]:
    """A client of each for one registry."""
    conf = {"url": mock_registry.url}
    return {name: Layer(name).SchemaRegistryClient(conf) for name in NAMES}


@pytest.mark.parametrize(("schema", "value"), CASES)
def test_bytes_and_values_are_the_originals(
    clients: dict[str, Any], schema: Any, value: Any
) -> None:
    """Each reads what the other wrote, for a new record and for one of a known schema."""
    payloads, values = [], []
    for layer in (ORIGINAL, OURS):
        serialize = layer.AvroSerializer(clients[layer.root], text_of(schema))
        context = layer.value_context()
        payloads.append([serialize(value, context) for _ in range(2)])
    assert payloads[0] == payloads[1]
    for layer in (ORIGINAL, OURS):
        for named in (False, True):
            deserialize = layer.AvroDeserializer(
                clients[layer.root], None, None, return_record_name=named
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


def test_records_are_read_by_the_readers_schema(clients: dict[str, Any]) -> None:
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
        client, context = clients[layer.root], layer.value_context()
        payload = layer.AvroSerializer(client, text_of(RECORD))(ORDER, context)
        read = layer.AvroDeserializer(client, text_of(reader))
        found.append([read(payload, context), read(payload, context)])
    assert found[0] == found[1]
    assert found[1][1] == {"id": 7.0, "added": "new", "comment": "é"}


@both
def test_references_are_resolved(layer: str, clients: dict[str, Any]) -> None:
    names, client = Layer(layer), clients[layer]
    client.register_schema("item", names.Schema(text_of(PETS[0])))
    text = {"type": "record", "name": "Home", "fields": [{"name": "pet", "type": "Cat"}]}
    schema = names.Schema(text_of(text), "AVRO", [names.SchemaReference("Cat", "item", 1)])
    context = names.value_context()
    payload = names.AvroSerializer(client, schema)({"pet": {"lives": 3}}, context)
    assert names.AvroDeserializer(client)(payload, context) == {"pet": {"lives": 3}}
    assert payload[5:] == b"\x06"


@both
def test_the_guid_may_be_in_a_header(layer: str) -> None:
    names = Layer(layer)
    client = names.SchemaRegistryClient.new_client({"url": "mock://"})
    conf = {"schema.id.serializer": names.header_schema_id_serializer}
    choices: list[Any] = [[], {}]
    for headers in choices:
        context = names.value_context(headers=headers)
        payload = names.AvroSerializer(client, text_of(RECORD), conf=conf)(ORDER, context)
        pairs = dict(headers)
        assert pairs["__value_schema_id"][:1] == b"\x01"
        assert names.AvroDeserializer(client)(payload, context) == {**ORDER}
    plain = names.AvroSerializer(client, text_of(RECORD))(ORDER, names.value_context())
    read = names.AvroDeserializer(client)
    # After records without headers, too.
    for _ in range(2):
        assert read(plain, names.value_context()) == ORDER
        assert read(payload, context) == ORDER


@pytest.mark.parametrize(
    ("conf", "subjects"),
    [
        ({}, ["orders-value"]),
        ({"subject.name.strategy.type": "RECORD"}, ["shop.Order"]),
        ({"subject.name.strategy.type": "TOPIC_RECORD"}, ["orders-shop.Order"]),
        ({"subject.name.strategy": lambda ctx, name: f"{ctx.topic}/{name}"}, ["orders/shop.Order"]),
    ],
)
def test_subjects_are_named_by_the_strategy(conf: dict[str, Any], subjects: list[str]) -> None:
    for layer in (ORIGINAL, OURS):
        with MockRegistry() as registry:
            client = layer.SchemaRegistryClient({"url": registry.url})
            serialize = layer.AvroSerializer(client, text_of(RECORD), conf=conf)
            payload = serialize(ORDER, layer.value_context())
            assert registry.subjects() == subjects
            read = layer.AvroDeserializer(client, conf=conf)
            assert read(payload, layer.value_context()) == ORDER


def test_an_associated_subject_is_asked_for_once() -> None:
    for layer in (ORIGINAL, OURS):
        with MockRegistry() as registry:
            client = layer.SchemaRegistryClient({"url": registry.url})
            serialize = layer.AvroSerializer(client, text_of(RECORD))
            for _ in range(3):
                serialize(ORDER, layer.value_context())
            paths = [request.path.partition("?")[0] for request in registry.requests()]
            assert paths == [
                "/associations/resources/-/orders",
                "/subjects/orders-value/versions",
            ]


@both
def test_the_latest_schema_is_used_if_configured(layer: str, clients: dict[str, Any]) -> None:
    names, client = Layer(layer), clients[layer]
    wider = {**RECORD, "fields": [*RECORD["fields"], {"name": "x", "type": "int", "default": 1}]}
    for schema in (RECORD, wider):
        client.register_schema("orders-value", names.Schema(text_of(schema)))
    conf: dict[str, Any] = {"auto.register.schemas": False, "use.latest.version": True}
    serialize = names.AvroSerializer(client, None, conf=conf)
    context = names.value_context()
    payload = serialize(ORDER, context)
    assert payload[:5] == b"\x00\x00\x00\x00\x02"
    old = names.AvroSerializer(client, text_of(RECORD), conf={"auto.register.schemas": False})(
        ORDER, context
    )
    assert old[:5] == b"\x00\x00\x00\x00\x01"
    read = names.AvroDeserializer(client, conf={"use.latest.version": True})
    assert [read(data, context) for data in (old, payload)] == [{**ORDER, "x": 1}] * 2
    conf = {"auto.register.schemas": False, "use.schema.id": 1}
    chosen = names.AvroSerializer(client, None, conf=conf)
    assert chosen(ORDER, context) == old


@pytest.mark.parametrize(
    "conf",
    [
        {"no.such.key": 1},
        {"auto.register.schemas": "yes"},
        {"use.latest.version": True},
        {"use.schema.id": "1"},
        {"use.latest.with.metadata": "x"},
        {"subject.name.strategy": "x"},
        {"subject.name.strategy.type": "NONE"},
        {"subject.name.strategy.type": "OTHER"},
        {"schema.id.serializer": 1},
        {"validate.strict": 1},
        {"validation.rules.execution": "SOMETIMES"},
        {"validation.rules.execution": "BEFORE_DOMAIN_RULES", "validation.rules.executor": 1},
    ],
)
def test_a_wrong_configuration_is_refused(conf: dict[str, Any], clients: dict[str, Any]) -> None:
    for layer in (ORIGINAL, OURS):
        with pytest.raises(ValueError, match=r"."):
            layer.AvroSerializer(clients[layer.root], text_of(RECORD), conf=conf)


@pytest.mark.parametrize(
    "data", [b"", b"\x00\x00\x00\x00\x01", b"\x05\x00\x00\x00\x01xx", b"\x00\x00\x00\x00\x09xx"]
)
def test_malformed_payloads_are_the_originals_errors(data: bytes, clients: dict[str, Any]) -> None:
    found = []
    for layer in (ORIGINAL, OURS):
        client, context = clients[layer.root], layer.value_context()
        layer.AvroSerializer(client, text_of(RECORD))(ORDER, context)
        read = layer.AvroDeserializer(client)
        found.append([outcome(read, data, context), outcome(read, data, None)])
        assert read(None, context) is None
    assert found[0] == found[1]


def test_truncated_payloads_are_the_originals_errors(clients: dict[str, Any]) -> None:
    """Programs catch fastavro's EOFError; bytes after the value are ignored, as it does."""
    found = []
    for layer in (ORIGINAL, OURS):
        client, context = clients[layer.root], layer.value_context()
        payload = layer.AvroSerializer(client, text_of(RECORD))(ORDER, context)
        read = layer.AvroDeserializer(client)
        cut = [outcome(read, payload[:length], context) for length in range(6, len(payload))]
        found.append([*cut, outcome(read, payload + b"\x00", context), read(payload, context)])
    assert found[0] == found[1]
    assert ("EOFError", None, None) in found[1]
    assert found[1][-1] == ORDER


def test_threads_register_a_schema_once(mock_registry: MockRegistry) -> None:
    client = OURS.SchemaRegistryClient({"url": mock_registry.url})
    serialize = OURS.AvroSerializer(client, text_of(RECORD))
    start = threading.Barrier(8)

    def write() -> None:
        start.wait()
        serialize(ORDER, OURS.value_context())

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    posts = [request for request in mock_registry.requests() if request.method == "POST"]
    assert len(posts) == 1


def test_the_asyncio_classes_do_the_same(mock_registry: MockRegistry) -> None:
    async def trace(layer: Layer) -> Any:
        client = layer.AsyncSchemaRegistryClient({"url": mock_registry.url})
        serialize = await layer.AsyncAvroSerializer(client, text_of(RECORD))
        read = await layer.AsyncAvroDeserializer(client)
        contexts = [layer.value_context() for _ in range(4)]
        payloads = await asyncio.gather(*(serialize(ORDER, context) for context in contexts))
        values = [await read(payload, contexts[0]) for payload in payloads]
        union = await layer.AsyncAvroSerializer(client, text_of(PETS))
        payloads.append(await union({"bark": "x"}, layer.value_context("pets")))
        with pytest.raises(layer.SerializationError):
            await read(b"\x07aaaaaaa", contexts[0])
        await client.aclose()
        return payloads, values

    ours = asyncio.run(trace(OURS))
    posts = [request for request in mock_registry.requests() if request.method == "POST"]
    assert len(posts) == 2
    assert ours == asyncio.run(trace(ORIGINAL))


@both
def test_objects_are_converted(layer: str, clients: dict[str, Any]) -> None:
    names, client = Layer(layer), clients[layer]
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
    clients: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "fastavro"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "fastavro", None)
    client, context = clients[OURS.root], OURS.value_context()
    payload = OURS.AvroSerializer(client, text_of(RECORD))(ORDER, context)
    read = OURS.AvroDeserializer(client)
    assert read(payload, context) == ORDER
    with pytest.raises(OURS.SerializationError, match=r"it ends within the value$"):
        read(payload[:-1], context)
    with pytest.raises(OURS.SerializationError, match="fastavro"):
        OURS.AvroSerializer(client, text_of(PETS))({"lives": 1}, OURS.value_context("pets"))
