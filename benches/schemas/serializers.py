"""Confluent's serializers of the shapes' records."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from benches.schemas import protobuf, shapes


def serializer(format_name: str, shape: str, registry: str, topic: str) -> Callable[[Any], bytes]:
    """Return confluent-kafka's serializer of a shape's records; it registers the schema."""
    client = SchemaRegistryClient({"url": registry})
    context = SerializationContext(topic, MessageField.VALUE)
    convert: Callable[[Any], Any] = dict
    serialize: Any
    if format_name == "avro":
        serialize = AvroSerializer(client, shapes.avro_text(shape))
    elif format_name == "protobuf":
        made = protobuf.message_class(shape)
        serialize = ProtobufSerializer(made, client, {"use.deprecated.format": False})

        def convert(record: Any) -> Any:
            return protobuf.fill(made(), record)
    else:
        schema = shapes.json_schema(shapes.avro_schema(shape))
        serialize = JSONSerializer(json.dumps(schema), client, conf={"validate": False})
        convert = shapes.as_json
    return lambda record: serialize(convert(record), context)
