"""Confluent's serializers and deserializers of Python, with values for them, by the format.

Each format has a schema that refers to another one of the registry. Used on real registries: what
Confluent's serializers write is what ottla's formats read, and the other way round.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.common.schema_registry_client import SchemaReference
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from ottla.schema import Avro, ColumnFormat, Json, Protobuf, Registry
from tests.support import protobuf_messages as shop


@dataclass(frozen=True)
class ConfluentFormat:
    """A format, of the values of one topic.

    Attributes:
        values: plain Python objects, as ottla decodes and encodes them.
        serialize: Confluent's serializer, which registers the schema.
        deserialize: Confluent's deserializer; its result is compared with ``values``.
        column_format: ottla's format.
    """

    values: Sequence[Any]
    serialize: Callable[[Any], bytes]
    deserialize: Callable[[bytes], Any]
    column_format: Callable[[Registry], ColumnFormat]


def avro(client: SchemaRegistryClient, topic: str) -> ConfluentFormat:
    """Return records with logical types and a named type of another subject."""
    item = {
        "type": "record",
        "name": "Item",
        "namespace": "shop",
        "fields": [{"name": "name", "type": "string"}, {"name": "price", "type": "double"}],
    }
    client.register_schema(f"{topic}-item", Schema(json.dumps(item), "AVRO"))
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}
    types: dict[str, Any] = {
        "id": "long",
        "note": ["null", "string"],
        "state": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]},
        "items": {"type": "array", "items": "shop.Item"},
        "counts": {"type": "map", "values": "int"},
        "total": decimal,
        "at": {"type": "long", "logicalType": "timestamp-micros"},
        "day": {"type": "int", "logicalType": "date"},
        "opens": {"type": "long", "logicalType": "time-micros"},
        "raw": "bytes",
        "flag": "boolean",
    }
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    text = json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": fields})
    schema = Schema(text, "AVRO", [SchemaReference("shop.Item", f"{topic}-item", 1)])
    source = random.Random(1)
    values = [
        {
            "id": source.randrange(-(2**63), 2**63),
            "note": source.choice([None, "", "ü€😀"]),
            "state": source.choice(["NEW", "PAID"]),
            "items": [{"name": f"n{n}", "price": n / 4} for n in range(source.randrange(3))],
            "counts": {f"k{n}": n for n in range(source.randrange(3))},
            "total": Decimal(source.randrange(-(10**11), 10**11)).scaleb(-2),
            "at": datetime(2024, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=n),
            "day": date(1970, 1, 1) + timedelta(days=source.randrange(40_000)),
            "opens": time(23, 59, 59, source.randrange(10**6)),
            "raw": source.randbytes(source.randrange(5)),
            "flag": source.random() < 0.5,
        }
        for n in range(50)
    ]
    context = SerializationContext(topic, MessageField.VALUE)
    serializer, deserializer = AvroSerializer(client, schema), AvroDeserializer(client)
    return ConfluentFormat(
        values,
        lambda value: serializer(value, context),
        lambda data: deserializer(data, context),
        Avro,
    )


def json_schema(client: SchemaRegistryClient, topic: str) -> ConfluentFormat:
    """Return objects, some of them of a schema of another subject."""
    item = {
        "title": "Item",
        "type": "object",
        "properties": {"name": {"type": "string"}, "price": {"type": "number"}},
        "required": ["name", "price"],
    }
    client.register_schema(f"{topic}-item", Schema(json.dumps(item), "JSON"))
    order = {
        "title": "Order",
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "note": {"type": ["null", "string"]},
            "items": {"type": "array", "items": {"$ref": "item.json"}},
            "flag": {"type": "boolean"},
        },
        "required": ["id", "note", "items"],
    }
    schema = Schema(json.dumps(order), "JSON", [SchemaReference("item.json", f"{topic}-item", 1)])
    values = [
        {
            "id": n * 10**15,
            "note": None if n % 2 else "ü€😀\n",
            "items": [{"name": f"n{m}", "price": m / 4} for m in range(n % 3)],
            "flag": n % 3 == 0,
        }
        for n in range(50)
    ]
    context = SerializationContext(topic, MessageField.VALUE)
    serializer = JSONSerializer(schema, client)
    deserializer = JSONDeserializer(None, schema_registry_client=client)
    return ConfluentFormat(
        values,
        lambda value: serializer(value, context),
        lambda data: deserializer(data, context),
        Json,
    )


def protobuf(client: SchemaRegistryClient, topic: str) -> ConfluentFormat:
    """Return messages of a file that imports the one of `protobuf_messages`, and with it Google's.

    Confluent's serializer registers each file, and refers to those that it imports.
    """
    pool = descriptor_pool.DescriptorPool()
    files = descriptor_pb2.FileDescriptorSet.FromString(shop.descriptor_set())
    main = files.file.add(name="cart.proto", package="cart", syntax="proto3")
    main.dependency.append("shop.proto")
    first = main.message_type.add(name="First")
    first.field.add(name="x", number=1, type=5, label=1)
    cart = main.message_type.add(name="Cart")
    cart.field.add(name="id", number=1, type=3, label=1)
    cart.field.add(name="orders", number=2, type=11, label=3, type_name=".shop.Order")
    for file in files.file:
        pool.AddSerializedFile(file.SerializeToString())
    message_class = message_factory.GetMessageClass(pool.FindMessageTypeByName("cart.Cart"))
    order_class = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))
    source = random.Random(1)
    messages = [
        message_class(id=n, orders=[shop.fill(order_class(), source) for _ in range(n % 3)])
        for n in range(50)
    ]
    for message in messages:
        for order in message.orders:
            order.ClearField("extra")  # its JSON text can be written in several ways
    context = SerializationContext(topic, MessageField.VALUE)
    conf = {"use.deprecated.format": False}
    serializer = ProtobufSerializer(message_class, client, conf)
    deserializer = ProtobufDeserializer(message_class, conf, client)
    by_value = {message.id: message for message in messages}
    return ConfluentFormat(
        [shop.expected(message) for message in messages],
        lambda value: serializer(by_value[value["id"]], context),
        lambda data: shop.expected(deserializer(data, context)),
        lambda registry: Protobuf(registry, message="cart.Cart"),
    )


FORMATS: dict[str, Callable[[SchemaRegistryClient, str], ConfluentFormat]] = {
    "avro": avro,
    "json": json_schema,
    "protobuf": protobuf,
}
