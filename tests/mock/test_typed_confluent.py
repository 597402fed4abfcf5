"""What Confluent's serializers of Protobuf and JSON write is read with a registry."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from ottla import errors
from ottla.schema import Json, Protobuf, Registry, infer_json
from ottla.testing import MockRegistry
from tests.support import protobuf_messages as shop

CLASSES = shop.classes()
CONTEXT = SerializationContext("orders", MessageField.VALUE)


@pytest.fixture
def peer(mock_registry: MockRegistry) -> SchemaRegistryClient:
    """Confluent's client of the registry."""
    return SchemaRegistryClient({"url": mock_registry.url})


@pytest.mark.parametrize("name", ["Order", "Item"])
def test_messages_of_confluents_serializer_are_read(
    mock_registry: MockRegistry, peer: SchemaRegistryClient, name: str
) -> None:
    """It registers descriptors, and says by indexes which message a value is."""
    serialize = ProtobufSerializer(CLASSES[name], peer, {"use.deprecated.format": False})
    source = random.Random(1)
    messages = [shop.fill(CLASSES[name](), source) for _ in range(30)]
    values = [serialize(message, CONTEXT) for message in messages]
    registry = Registry(mock_registry.url)
    formats: list[Any] = [
        Protobuf(registry, message=f"shop.{name}"),
        Protobuf(registry, schema=CLASSES[name]),
        Protobuf(registry, schema=shop.text(), message=f"shop.{name}"),
    ]
    for value_format in formats:
        decoded = [shop.read(value_format.deserialize("orders", value)) for value in values]
        assert decoded == [shop.expected(message) for message in messages]
    other = Protobuf(registry, message="shop.Address")
    with pytest.raises(errors.SerializationError, match=f"the message is shop.{name}, but the"):
        other.deserialize("orders", values[0])


def test_values_of_confluents_json_serializer_are_read(
    mock_registry: MockRegistry, peer: SchemaRegistryClient
) -> None:
    """The type is the registered schema's, a given one, or inferred from framed values."""
    schema = {
        "title": "Order",
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    }
    serialize = JSONSerializer(json.dumps(schema), peer)
    value = serialize({"id": 5, "name": "ü"}, CONTEXT)
    assert value is not None
    registry = Registry(mock_registry.url)
    assert Json(registry).deserialize("orders", value) == {"id": 5, "name": "ü"}
    assert Json(registry, fields=["name"]).deserialize("orders", value) == {"name": "ü"}
    inferred = infer_json([value], wire_format="confluent")
    assert Json(registry, schema=inferred).deserialize("orders", value) == {"id": 5, "name": "ü"}
