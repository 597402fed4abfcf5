"""Serializers and deserializers of keys and values, and the context that they are called with.

The classes have confluent-kafka's names and call signatures: an instance is called with the object
or the bytes, and a ``SerializationContext``. None is a tombstone, and stays None. Bytes that do not
fit are a ``SerializationError``, never another exception of the standard library.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeAlias

from ottla.compat.confluent_kafka._kafka_error import KafkaException

__all__ = [
    "Deserializer",
    "DeserializerBuilder",
    "DoubleDeserializer",
    "DoubleSerializer",
    "IntegerDeserializer",
    "IntegerSerializer",
    "MessageField",
    "SerializationContext",
    "SerializationError",
    "Serializer",
    "SerializerBuilder",
    "StringDeserializer",
    "StringSerializer",
]

_Headers: TypeAlias = list[tuple[str, Any]] | dict[str, Any]

_INT32 = struct.Struct(">i")
_FLOAT64 = struct.Struct(">d")


class MessageField(str, Enum):
    """The part of a record that is serialized."""

    NONE = "none"
    KEY = "key"
    VALUE = "value"

    def __str__(self) -> str:
        return str(self.value)


class SerializationContext:
    """Where the bytes go to, or come from.

    Args:
        topic: the topic.
        field: the key or the value.
        headers: the record's headers, as a list of pairs or a dict. A serializer may add some.
    """

    def __init__(self, topic: str, field: MessageField, headers: _Headers | None = None) -> None:
        self.topic = topic
        self.field = field
        self.headers = headers


class SerializationError(KafkaException):
    """An object cannot be serialized, or bytes cannot be deserialized."""


class Serializer:
    """The base of all serializers: an instance is called with an object and returns bytes."""

    __slots__: list[str] = []

    def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:
        """Return the bytes of an object, or None for None."""
        raise NotImplementedError

    def set_cluster_id_resolver(self, resolver: Callable[[], Any]) -> None:
        """Take a callable that returns the id of the Kafka cluster. By default, it is ignored."""

    def close(self) -> Any:
        """Release what the serializer itself has created. By default, nothing."""


class Deserializer:
    """The base of all deserializers: an instance is called with bytes and returns an object."""

    __slots__: list[str] = []

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> Any:
        """Return the object of some bytes, or None for None."""
        raise NotImplementedError

    def set_cluster_id_resolver(self, resolver: Callable[[], Any]) -> None:
        """Take a callable that returns the id of the Kafka cluster. By default, it is ignored."""

    def close(self) -> Any:
        """Release what the deserializer itself has created. By default, nothing."""


class SerializerBuilder:
    """The base of builders: a producer calls ``build`` and owns the serializer that it returns."""

    __slots__: list[str] = []

    def build(self, conf: dict[str, Any], is_key: bool) -> tuple[Serializer, dict[str, Any]]:
        """Return a serializer, and the configuration that is left for the client."""
        raise NotImplementedError


class DeserializerBuilder:
    """The base of builders: a consumer calls ``build`` and owns the deserializer it returns."""

    __slots__: list[str] = []

    def build(self, conf: dict[str, Any], is_key: bool) -> tuple[Deserializer, dict[str, Any]]:
        """Return a deserializer, and the configuration that is left for the client."""
        raise NotImplementedError


def _pack(layout: struct.Struct, value: Any) -> bytes | None:
    if value is None:
        return None
    try:
        return layout.pack(value)
    except struct.error as error:
        raise SerializationError(str(error)) from error


def _unpack(layout: struct.Struct, data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return layout.unpack(data)[0]
    except struct.error as error:
        raise SerializationError(str(error)) from error


class DoubleSerializer(Serializer):
    """Numbers as eight bytes: binary64 of IEEE 754, big-endian."""

    def __call__(self, obj: float | None, ctx: SerializationContext | None = None) -> bytes | None:
        return _pack(_FLOAT64, obj)


class DoubleDeserializer(Deserializer):
    """Numbers from eight bytes: binary64 of IEEE 754, big-endian."""

    def __call__(
        self, value: bytes | None, ctx: SerializationContext | None = None
    ) -> float | None:
        number: float | None = _unpack(_FLOAT64, value)
        return number


class IntegerSerializer(Serializer):
    """Integers of 32 bits with a sign, as four bytes, big-endian."""

    def __call__(self, obj: int | None, ctx: SerializationContext | None = None) -> bytes | None:
        return _pack(_INT32, obj)


class IntegerDeserializer(Deserializer):
    """Integers of 32 bits with a sign, from four bytes, big-endian."""

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> int | None:
        number: int | None = _unpack(_INT32, value)
        return number


class StringSerializer(Serializer):
    """Text in an encoding.

    Args:
        codec: one of Python's encodings. Default: UTF-8.
    """

    def __init__(self, codec: str = "utf_8") -> None:
        self.codec = codec

    def __call__(self, obj: str | None, ctx: SerializationContext | None = None) -> bytes | None:
        if obj is None:
            return None
        try:
            return obj.encode(self.codec)
        except UnicodeError as error:
            raise SerializationError(str(error)) from error


class StringDeserializer(Deserializer):
    """Text from an encoding.

    Args:
        codec: one of Python's encodings. Default: UTF-8.
    """

    def __init__(self, codec: str = "utf_8") -> None:
        self.codec = codec

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> str | None:
        if value is None:
            return None
        try:
            return value.decode(self.codec)
        except UnicodeError as error:
            raise SerializationError(str(error)) from error
