"""The stand-in's serializers of Protobuf write and read what confluent-kafka's do."""

from __future__ import annotations

import asyncio
import random
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from ottla.testing import MockRegistry
from tests.support import protobuf_messages as shop
from tests.support.child import run_child
from tests.support.registry_layers import NAMES, ORIGINAL, OURS, Layer, both, outcome

CLASSES = shop.classes()


@pytest.mark.parametrize("name", ["Order", "Item", "Address"])
def test_bytes_and_messages_are_the_originals(registry_clients: dict[str, Any], name: str) -> None:
    """Messages are of the application's class; later ones in a file have indexes."""
    source = random.Random(5)
    message = shop.fill(CLASSES[name](), source)
    found = []
    for layer in (ORIGINAL, OURS):
        client, context = registry_clients[layer.root], layer.value_context()
        serialize = layer.ProtobufSerializer(CLASSES[name], client)
        payloads = [serialize(message, context) for _ in range(2)]
        for registry in (client, None):
            read = layer.ProtobufDeserializer(CLASSES[name], None, registry)
            for payload in payloads:
                result = read(payload, context)
                assert result == message
                assert isinstance(result, CLASSES[name])
        found.append(payloads)
        # Map fields of a message have no order in its bytes.
        assert payloads[0][:8] == payloads[1][:8]
    assert [data[:8] for data in found[0]] == [data[:8] for data in found[1]]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x07abcdef",
        b"\x00\x00\x00\x00\x01",
        b"\x00\x00\x00\x00\x01\x02\x90\x03",
        b"\x00\x00\x00\x00\x01\x04\x00\x08",
        b"\x00\x00\x00\x00\x01\xff\xff\xff\xff\x7f",
        b"\x00\x00\x00\x00\x01\x00\xff",
        b"\x00\x00\x00\x00\x63\x00",
    ],
)
def test_malformed_payloads_are_errors(data: bytes, registry_clients: dict[str, Any]) -> None:
    for layer in (ORIGINAL, OURS):
        client, context = registry_clients[layer.root], layer.value_context()
        layer.ProtobufSerializer(CLASSES["Item"], client)(CLASSES["Item"](name="x"), context)
        read = layer.ProtobufDeserializer(CLASSES["Item"], None, client)
        assert isinstance(outcome(read, data, context), tuple)
        assert read(None, context) is None


@both
def test_imported_files_are_registered(layer: str, registry_clients: dict[str, Any]) -> None:
    names, client = Layer(layer), registry_clients[layer]
    message = _with_import()
    serialize = names.ProtobufSerializer(message, client)
    context = names.value_context()
    payload = serialize(message(), context)
    assert names.ProtobufDeserializer(message, None, client)(payload, context) == message()
    latest = client.get_latest_version("orders-value")
    assert [(item.name, item.subject) for item in latest.schema.references] == [
        ("layer/inner.proto", "layer/inner.proto")
    ]
    with pytest.raises(ValueError, match="message must be of type"):
        serialize(CLASSES["Item"](), context)
    with pytest.raises(ValueError, match=r"use\.deprecated\.format"):
        names.ProtobufSerializer(message, client, {"use.deprecated.format": True})


def _with_import() -> Any:
    pool = descriptor_pool.DescriptorPool()
    inner = descriptor_pb2.FileDescriptorProto(name="layer/inner.proto", syntax="proto3")
    inner.package = "layer"
    inner.message_type.add(name="Inner")
    outer = descriptor_pb2.FileDescriptorProto(name="layer/outer.proto", syntax="proto3")
    outer.dependency.append(inner.name)
    field = outer.message_type.add(name="Outer").field.add(name="inner", number=1)
    field.label, field.type, field.type_name = (
        field.LABEL_OPTIONAL,
        field.TYPE_MESSAGE,
        ".layer.Inner",
    )
    for file in (inner, outer):
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Outer"))


@pytest.mark.parametrize(
    ("text", "scale"),
    [("0", 0), ("1.50", 2), ("1.50", 1), ("-128", 0), ("-129", 0), ("1E+3", -3), ("12.345", 5)],
)
def test_decimals_are_the_originals(text: str, scale: int) -> None:
    found = []
    for name in NAMES:
        module = Layer(name).module("schema_registry.common.protobuf")
        message = module.decimal_to_protobuf(Decimal(text), scale)
        found.append((message.value, message.precision, message.scale))
        assert module.protobuf_to_decimal(message) == Decimal(text)
        with pytest.raises(ValueError, match="Scale provided"):
            module.decimal_to_protobuf(Decimal("1.55"), 1)
    assert found[0] == found[1]


def test_the_asyncio_classes_do_the_same(mock_registry: MockRegistry) -> None:
    async def trace(layer: Layer) -> Any:
        client = layer.AsyncSchemaRegistryClient({"url": mock_registry.url})
        serialize = await layer.AsyncProtobufSerializer(CLASSES["Item"], client)
        read = await layer.AsyncProtobufDeserializer(CLASSES["Item"], None, client)
        context = layer.value_context()
        message = CLASSES["Item"](name="pen", price=1.5)
        payloads = [await serialize(message, context) for _ in range(2)]
        assert [await read(payload, context) for payload in payloads] == [message] * 2
        await client.aclose()
        return payloads

    assert asyncio.run(trace(OURS)) == asyncio.run(trace(ORIGINAL))


@pytest.mark.parametrize("first", ["confluent_kafka", "ottla.compat.confluent_kafka"])
def test_generated_code_of_both_is_loaded_in_one_process(first: str) -> None:
    """Regression: the pool refused a file of the same name with other content."""
    program = f"""
        from importlib import import_module
        both = ["confluent_kafka", "ottla.compat.confluent_kafka"]
        files = ["meta_pb2", "type.decimal_pb2", "types.decimal_pb2"]
        for package in sorted(both, key={first!r}.__ne__):
            for file in files:
                import_module(f"{{package}}.schema_registry.confluent.{{file}}")
        print("loaded", package)
    """
    done = run_child(program)
    assert done.code == 0, done.output
    assert "loaded" in done.output
