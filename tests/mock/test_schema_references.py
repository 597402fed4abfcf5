"""Schemas that refer to others: registered with what they refer to, and read by Confluent's.

The schemas that a generated class of Protobuf imports are registered as Confluent's serializer does
it. Nothing is registered unless that was asked for.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

from ottla import errors
from ottla.schema import Avro, Json, Protobuf, Registry, Schema, SchemaReference
from ottla.testing import MockRegistry

MONEY = json.dumps(
    {
        "type": "record",
        "name": "Money",
        "namespace": "shop",
        "fields": [{"name": "units", "type": "long"}, {"name": "currency", "type": "string"}],
    }
)
ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [{"name": "id", "type": "long"}, {"name": "price", "type": "Money"}],
    }
)
VALUE = {"id": 7, "price": {"units": 12, "currency": "EUR"}}
CONTEXT = SerializationContext("t", MessageField.VALUE)


@pytest.fixture
def registry(mock_registry: MockRegistry) -> Registry:
    """A client of the mock registry."""
    return Registry(mock_registry.url)


@pytest.fixture
def order(registry: Registry) -> Schema:
    """An Avro schema that refers to one in the registry."""
    money = registry.register("money", Schema(MONEY))
    assert money.version == 1
    return Schema(ORDER, "AVRO", [SchemaReference("shop.Money", "money", 1)])


def test_avro_with_a_reference(
    mock_registry: MockRegistry, registry: Registry, order: Schema
) -> None:
    value = Avro(registry, schema=order, register=True)
    encoded = value.serialize("t", VALUE)
    assert encoded is not None
    confluent = AvroDeserializer(SchemaRegistryClient({"url": mock_registry.url}))
    assert confluent(encoded, CONTEXT) == VALUE
    assert registry.latest("t-value").references == order.references
    # As a reader's schema, and with the one that is registered.
    for reader in (value, Avro(registry, schema=order), Avro(registry)):
        assert reader.deserialize("t", encoded) == VALUE


def test_without_ids_the_references_are_looked_up_too(registry: Registry, order: Schema) -> None:
    value = Avro(registry, schema=order, wire_format="none")
    encoded = value.serialize("t", VALUE)
    assert encoded is not None
    assert value.deserialize("t", encoded) == VALUE
    with pytest.raises(errors.ConfigError, match="schema registry"):
        Avro(schema=order, wire_format="none")


def test_a_schema_of_another_type(registry: Registry, order: Schema) -> None:
    with pytest.raises(errors.ConfigError, match="the schema is of type AVRO: expected JSON"):
        Json(registry, schema=order)


def test_a_reference_that_does_not_exist(registry: Registry) -> None:
    order = Schema(ORDER, "AVRO", [SchemaReference("shop.Money", "money", 1)])
    with pytest.raises(errors.SchemaError, match="money"):
        Avro(registry, schema=order, register=True).serialize("t", VALUE)


def test_json_with_a_reference(mock_registry: MockRegistry, registry: Registry) -> None:
    money = {"type": "object", "properties": {"units": {"type": "integer"}}}
    registry.register("money", Schema(json.dumps(money), "JSON"))
    text = {
        "type": "object",
        "title": "Order",
        "properties": {"id": {"type": "integer"}, "price": {"$ref": "money.json"}},
    }
    schema = Schema(json.dumps(text), "JSON", [SchemaReference("money.json", "money", 1)])
    value = Json(registry, schema=schema, register=True)
    order = {"id": 7, "price": {"units": 12}}
    encoded = value.serialize("t", order)
    assert encoded is not None
    client = SchemaRegistryClient({"url": mock_registry.url})
    assert JSONDeserializer(None, schema_registry_client=client)(encoded, CONTEXT) == order
    assert value.deserialize("t", encoded) == order


@pytest.fixture(scope="module")
def order_class() -> Any:
    """A class of Protobuf whose file imports two others, of which one imports the other."""
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    field = descriptor_pb2.FieldDescriptorProto
    files: dict[str, tuple[str, list[str], list[tuple[str, str | None]]]] = {
        "shop/currency.proto": ("Currency", [], [("code", None)]),
        "shop/money.proto": ("Money", ["shop/currency.proto"], [("currency", "Currency")]),
        "shop/order.proto": (
            "Order",
            ["shop/money.proto", "shop/currency.proto", "google/protobuf/timestamp.proto"],
            [("price", "Money"), ("listed", "Currency"), ("at", "google.protobuf.Timestamp")],
        ),
    }
    for name, (message, imports, fields) in files.items():
        file = descriptor_pb2.FileDescriptorProto(
            name=name, package="shop", syntax="proto3", dependency=imports
        )
        made = file.message_type.add(name=message)
        for number, (field_name, kind) in enumerate(fields, 1):
            added = made.field.add(name=field_name, number=number, label=field.LABEL_OPTIONAL)
            added.type = field.TYPE_STRING if kind is None else field.TYPE_MESSAGE
            if kind is not None:
                added.type_name = f".{kind}" if "." in kind else f".shop.{kind}"
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


def test_imports_are_registered_as_confluents_serializer_does(
    mock_registry: MockRegistry, registry: Registry, order_class: Any
) -> None:
    value = Protobuf(registry, schema=order_class, register=True)
    encoded = value.serialize("t", {"price": {"currency": {"code": "EUR"}}, "listed": None})
    message = order_class()
    message.price.currency.code = "EUR"
    with MockRegistry() as other:
        client = SchemaRegistryClient({"url": other.url})
        serialize = ProtobufSerializer(order_class, client, {"use.deprecated.format": False})
        assert encoded == serialize(message, CONTEXT)
        assert mock_registry.subjects() == other.subjects()
        theirs = Registry(other.url)
        for subject in mock_registry.subjects():
            assert registry.latest(subject) == theirs.latest(subject)
    assert mock_registry.subjects() == ["shop/currency.proto", "shop/money.proto", "t-value"]
    decode = ProtobufDeserializer(
        order_class,
        {"use.deprecated.format": False},
        SchemaRegistryClient({"url": mock_registry.url}),
    )
    assert decode(encoded, CONTEXT) == message
    assert Protobuf(registry).deserialize("t", encoded or b"")["price"]["currency"] == {
        "code": "EUR"
    }


def test_imports_are_not_registered_unless_asked(
    mock_registry: MockRegistry, registry: Registry, order_class: Any
) -> None:
    value = Protobuf(registry, schema=order_class)
    with pytest.raises(errors.SchemaError, match=r"shop/currency\.proto.*register=True"):
        value.serialize("t", {"price": None})
    assert mock_registry.subjects() == []
    assert Protobuf(registry, schema=order_class, register=True).serialize("t", {}) is not None
    assert value.serialize("t", {"price": None}) is not None
