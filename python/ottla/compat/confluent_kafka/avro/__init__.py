"""The deprecated producer and consumer of Avro. New programs use ``schema_registry.avro``."""

from __future__ import annotations

import warnings
from typing import Any

from ottla.compat.confluent_kafka._consumer import Consumer
from ottla.compat.confluent_kafka._producer import Producer
from ottla.compat.confluent_kafka.avro.cached_schema_registry_client import (
    CachedSchemaRegistryClient,
)
from ottla.compat.confluent_kafka.avro.error import ClientError
from ottla.compat.confluent_kafka.avro.load import load, loads
from ottla.compat.confluent_kafka.avro.serializer import (
    KeySerializerError,
    SerializerError,
    ValueSerializerError,
)
from ottla.compat.confluent_kafka.avro.serializer.message_serializer import MessageSerializer

__all__ = [
    "AvroConsumer",
    "AvroProducer",
    "CachedSchemaRegistryClient",
    "ClientError",
    "KeySerializerError",
    "MessageSerializer",
    "SerializerError",
    "ValueSerializerError",
    "load",
    "loads",
]

_PREFIX = "schema.registry."


def _split(config: dict[str, Any], registry: Any) -> tuple[dict[str, Any], Any]:
    """Return the client's configuration, and the registry's client."""
    own = {key[len(_PREFIX) :]: value for key, value in config.items() if key.startswith(_PREFIX)}
    rest = {key: value for key, value in config.items() if not key.startswith(_PREFIX)}
    if registry is not None:
        if own.get("url") is not None:
            raise ValueError("Cannot pass schema_registry along with schema.registry.url config")
        return rest, registry
    if own.get("basic.auth.credentials.source") == "SASL_INHERIT":
        own["sasl.mechanism"] = config.get("sasl.mechanism", config.get("sasl.mechanisms", ""))
        own["sasl.username"] = config.get("sasl.username", "")
        own["sasl.password"] = config.get("sasl.password", "")
    return rest, CachedSchemaRegistryClient(own)


class AvroProducer(Producer):
    """A producer that serializes keys and values in Avro. Deprecated.

    Args:
        config: the configuration, with ``schema.registry.url``.
        default_key_schema: the schema of keys, of the avro library.
        default_value_schema: the schema of values.
        schema_registry: the registry's client. Default: one of ``schema.registry.url``.
    """

    def __init__(
        self,
        config: dict[str, Any],
        default_key_schema: Any = None,
        default_value_schema: Any = None,
        schema_registry: Any = None,
        **kwargs: Any,
    ) -> None:
        warnings.warn(
            "AvroProducer is deprecated: use AvroSerializer",
            category=DeprecationWarning,
            stacklevel=2,
        )
        rest, registry = _split(config, schema_registry)
        super().__init__(rest, **kwargs)
        self._serializer = MessageSerializer(registry)
        self._key_schema = default_key_schema
        self._value_schema = default_value_schema

    def produce(self, **kwargs: Any) -> None:  # type: ignore[override]
        """Serialize a key and a value, and produce them.

        Args:
            kwargs: ``topic``, ``key``, ``value``, ``key_schema`` and ``value_schema``, and what
                ``Producer.produce`` takes.

        Raises:
            ClientError: there is no topic.
            SerializerError: a key or value has no schema.
        """
        key_schema = kwargs.pop("key_schema", self._key_schema)
        value_schema = kwargs.pop("value_schema", self._value_schema)
        topic = kwargs.pop("topic", None)
        if not topic:
            raise ClientError("Topic name not specified.")
        key, value = kwargs.pop("key", None), kwargs.pop("value", None)
        encode = self._serializer.encode_record_with_schema
        if value is not None:
            if not value_schema:
                raise ValueSerializerError("Avro schema required for values")
            value = encode(topic, value_schema, value)
        if key is not None:
            if not key_schema:
                raise KeySerializerError("Avro schema required for key")
            key = encode(topic, key_schema, key, True)
        super().produce(topic, value, key, **kwargs)


class AvroConsumer(Consumer):
    """A consumer that deserializes keys and values in Avro. Deprecated.

    Args:
        config: the configuration, with ``schema.registry.url``.
        schema_registry: the registry's client. Default: one of ``schema.registry.url``.
        reader_key_schema: the schema to read keys with. Default: the writer's.
        reader_value_schema: the schema to read values with. Default: the writer's.
    """

    def __init__(
        self,
        config: dict[str, Any],
        schema_registry: Any = None,
        reader_key_schema: Any = None,
        reader_value_schema: Any = None,
        **kwargs: Any,
    ) -> None:
        warnings.warn(
            "AvroConsumer is deprecated: use AvroDeserializer",
            category=DeprecationWarning,
            stacklevel=2,
        )
        rest, registry = _split(config, schema_registry)
        super().__init__(rest, **kwargs)
        self._serializer = MessageSerializer(registry, reader_key_schema, reader_value_schema)

    def poll(self, timeout: float | None = None) -> Any:
        """Return the next message with its key and value deserialized, or None.

        Args:
            timeout: seconds. Default: no limit.

        Raises:
            SerializerError: the key or the value cannot be deserialized.
        """
        message = super().poll(-1 if timeout is None else timeout)
        if message is None or message.error():
            return message
        try:
            if message.value() is not None:
                message.set_value(self._serializer.decode_message(message.value(), is_key=False))
            if message.key() is not None:
                message.set_key(self._serializer.decode_message(message.key(), is_key=True))
        except SerializerError as error:
            place = f"{message.topic()} [{message.partition()}] offset {message.offset()}"
            raise SerializerError(f"the message at {place}: {error}") from error
        return message
