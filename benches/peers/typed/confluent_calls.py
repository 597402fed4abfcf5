"""confluent-kafka with its deserializers, and with fastavro in their place.

The consumer is tuned as in ``benches.peers.consume``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, KafkaException
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from benches.peers.consumers import confluent_calls
from benches.peers.consumers.task import FEW
from benches.peers.typed.task import Call, Rows, TypedTask
from benches.schemas import protobuf

NAME = "confluent-kafka"


def _consume(task: TypedTask, rows: Rows, deserialize: Callable[[bytes], Any]) -> None:
    consumer = Consumer(confluent_calls.settings(task))
    consumer.assign(confluent_calls.partitions(task))
    more = True
    while more:
        append = rows.records.append
        for message in consumer.consume(FEW, 0.5):
            if message.error() is not None:
                raise KafkaException(message.error())
            append(deserialize(message.value() or b""))
        more = rows.take()
    consumer.close()


def _client(task: TypedTask) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": task.registry})


def _avro(task: TypedTask) -> None:
    read: Any = AvroDeserializer(_client(task))
    context = SerializationContext(task.topic, MessageField.VALUE)
    _consume(task, Rows(task), lambda value: read(value, context))


def _protobuf(task: TypedTask) -> None:
    to_dict = protobuf.to_dict(task.shape)
    config = {"use.deprecated.format": False}
    read: Any = ProtobufDeserializer(protobuf.message_class(task.shape), config, _client(task))
    context = SerializationContext(task.topic, MessageField.VALUE)
    _consume(task, Rows(task), lambda value: to_dict(read(value, context)))


def _json(task: TypedTask, validate: bool) -> None:
    config = {"validate": validate}
    read: Any = JSONDeserializer(None, schema_registry_client=_client(task), conf=config)
    context = SerializationContext(task.topic, MessageField.VALUE)
    _consume(task, Rows(task, pa.string()), lambda value: read(value, context))


def fastavro_reader(task: TypedTask) -> Callable[[bytes], Any]:
    """Return a function that decodes a value with fastavro and the schema of its id."""
    import fastavro

    client = _client(task)
    schemas: dict[bytes, Any] = {}

    def read(value: bytes) -> Any:
        schema_id = value[1:5]
        schema = schemas.get(schema_id)
        if schema is None:
            text = client.get_schema(int.from_bytes(schema_id, "big")).schema_str
            schema = schemas[schema_id] = fastavro.parse_schema(json.loads(text or ""))
        source = io.BytesIO(value)
        source.seek(5)
        return fastavro.schemaless_reader(source, schema, None)

    return read


def _fastavro(task: TypedTask) -> None:
    _consume(task, Rows(task), fastavro_reader(task))


CALLS = {
    "avro": [Call(NAME, "AvroDeserializer", _avro), Call(NAME, "fastavro", _fastavro)],
    "protobuf": [Call(NAME, "ProtobufDeserializer", _protobuf)],
    "json": [
        Call(NAME, "JSONDeserializer", partial(_json, validate=True)),
        Call(NAME, "JSONDeserializer, validate off", partial(_json, validate=False)),
    ],
}
