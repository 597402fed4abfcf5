"""Builders of serializers, and the deprecated classes of Avro, as on confluent-kafka."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from ottla.testing import MockRegistry
from tests.support import protobuf_messages as shop
from tests.support.registry_layers import NAMES, Layer, both

AVRO = '{"type": "record", "name": "A", "fields": [{"name": "id", "type": "int"}]}'
JSON = '{"title": "A", "type": "object"}'
CLASSES = shop.classes()


def builders(names: Layer, conf: dict[str, Any], asynchronous: bool = False) -> list[Any]:
    prefix = "Async" if asynchronous else ""
    found: list[Any] = []
    for kind, schema in (("Avro", AVRO), ("JSON", JSON)):
        serializer = getattr(names, f"{prefix}{kind}SerializerBuilder")(schema_registry_config=conf)
        deserializer = getattr(names, f"{prefix}{kind}DeserializerBuilder")()
        found.append((serializer.set_schema(schema), deserializer, {"id": 1}))
    serializer = getattr(names, f"{prefix}ProtobufSerializerBuilder")(conf)
    deserializer = getattr(names, f"{prefix}ProtobufDeserializerBuilder")()
    item = CLASSES["Item"]
    found.append(
        (serializer.set_message_type(item), deserializer.set_message_type(item), item(name="x"))
    )
    return [(ser, de.set_schema_registry_config(conf), value) for ser, de, value in found]


LIBRARIES = (
    "attr attrs authlib avro cachetools certifi fastavro google httpx httpx2 jsonschema orjson"
)
PROGRAM = """
import importlib.abc, sys

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname.partition(".")[0] in {names!r}.split():
            raise ImportError(fullname)

sys.meta_path.insert(0, Refuse())
from ottla.compat.confluent_kafka import avro, schema_registry, serialization
from ottla.compat.confluent_kafka.schema_registry import (
    avro, error, json_schema, protobuf, rule_registry, rules, serde
)

client = schema_registry.SchemaRegistryClient.new_client({{"url": "mock://"}})
context = serialization.SerializationContext("t", serialization.MessageField.VALUE)
payload = avro.AvroSerializer(client, {schema!r})({{"id": 3}}, context)
assert avro.AvroDeserializer(client)(payload, context) == {{"id": 3}}
"""


def test_no_other_library_is_needed_to_import_it() -> None:
    names = f"{LIBRARIES} referencing requests typing_extensions confluent_kafka"
    program = PROGRAM.format(names=names, schema=AVRO)
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@both
def test_builders_make_objects_that_own_their_clients(
    layer: str, mock_registry: MockRegistry
) -> None:
    names = Layer(layer)
    rest = {"bootstrap.servers": "x"}
    for serializer, deserializer, value in builders(names, {"url": mock_registry.url}):
        context = names.value_context(type(serializer).__name__)
        write, left = serializer.build(dict(rest), False)
        read, _ = deserializer.build(dict(rest), False)
        assert left == rest
        for _ in range(2):
            assert read(write(value, context), context) == value
        for made in (write, read):
            made.close()
            made.close()


@both
def test_builders_for_asyncio_are_awaited(layer: str, mock_registry: MockRegistry) -> None:
    names = Layer(layer)

    async def main() -> None:
        for serializer, deserializer, value in builders(names, {"url": mock_registry.url}, True):
            context = names.value_context(type(serializer).__name__)
            write, _ = await serializer.build({}, False)
            read, _ = await deserializer.build({}, False)
            assert await read(await write(value, context), context) == value
            await write.aclose()
            await read.aclose()

    asyncio.run(main())


@both
def test_a_builder_with_two_clients_or_without_a_class_is_refused(layer: str) -> None:
    names = Layer(layer)
    client = names.SchemaRegistryClient.new_client({"url": "mock://"})
    builder = names.AvroSerializerBuilder({"url": "mock://"}, client, AVRO)
    with pytest.raises(ValueError, match="both a Schema Registry client and a configuration"):
        builder.build({}, False)
    with pytest.raises(ValueError, match="requires a message type"):
        names.ProtobufDeserializerBuilder({"url": "mock://"}).build({}, False)


def test_a_builder_that_fails_closes_its_client() -> None:
    names, closed = Layer(NAMES[1]), list[str]()

    def init(serializer: Any) -> None:
        serializer._registry.close = lambda: closed.append("client")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        names.AvroSerializerBuilder({"url": "mock://"}, schema=AVRO, serializer_init=init).build(
            {}, False
        )
    assert closed == ["client"]


@both
def test_the_deprecated_client_and_serializer_do_the_same(
    layer: str, mock_registry: MockRegistry
) -> None:
    names = Layer(layer)
    load = names.module("avro.load").loads
    errors = names.module("avro.serializer")
    client = names.module("avro.cached_schema_registry_client").CachedSchemaRegistryClient(
        {"url": mock_registry.url}
    )
    serializer = names.module("avro.serializer.message_serializer").MessageSerializer(client)
    schema = load(AVRO)
    payload = serializer.encode_record_with_schema("orders", schema, {"id": 7})
    assert payload == b"\x00\x00\x00\x00\x01\x0e"
    assert serializer.decode_message(payload) == {"id": 7}
    assert serializer.encode_record_with_schema_id(1, {"id": 7}) == payload
    assert client.get_latest_schema("orders-value") == (1, schema, 1)
    assert client.get_latest_schema("none") == (None, None, None)
    assert client.get_version("orders-value", schema) == 1
    assert client.check_registration("orders-value", schema) == 1
    assert client.get_by_id(9) is None
    for data in (b"\x00", b"\x01\x00\x00\x00\x01\x0e", b"\x00\x00\x00\x00\x09\x0e"):
        with pytest.raises(errors.SerializerError):
            serializer.decode_message(data)
    with pytest.raises(names.module("avro.error").ClientError, match="Schema parse failed"):
        load("{")
