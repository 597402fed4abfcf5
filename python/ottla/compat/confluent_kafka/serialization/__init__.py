"""Serializers and deserializers of strings and numbers (``confluent_kafka.serialization``).

Invariants: None stays None in both directions; numbers are big-endian, as in Java.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Callable
from typing import Any, cast

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


class MessageField(str, enum.Enum):
    """The part of a message that is serialized."""

    NONE = "none"
    KEY = "key"
    VALUE = "value"

    def __str__(self) -> str:
        return self.value


class SerializationContext:
    """What a serializer or a deserializer may want to know about the message.

    Args:
        topic: the topic.
        field: the part of the message.
        headers: the message's headers, if there are any.
    """

    def __init__(self, topic: str, field: MessageField, headers: Any = None) -> None:
        self.topic = topic
        self.field = field
        self.headers = headers


class SerializationError(KafkaException):
    """An object cannot be converted to bytes, or bytes to an object."""


class Serializer:
    """The base of serializers: callables that convert an object to bytes."""

    __slots__: tuple[str, ...] = ()

    def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:
        """Return the object as bytes; None for None."""
        raise NotImplementedError

    def set_cluster_id_resolver(self, resolver: Callable[[], Any]) -> None:
        """Get a function that returns the id of the client's cluster; the client calls this once.

        The function may wait for the cluster, so call it only when the id is needed. The default
        implementation does nothing.
        """

    def close(self) -> None:
        """Release what was made for this object. The default implementation does nothing."""


class Deserializer:
    """The base of deserializers: callables that convert bytes to an object."""

    __slots__: tuple[str, ...] = ()

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> Any:
        """Return the object in the bytes; None for None."""
        raise NotImplementedError

    def set_cluster_id_resolver(self, resolver: Callable[[], Any]) -> None:
        """Get a function that returns the id of the client's cluster; the client calls this once.

        The function may wait for the cluster, so call it only when the id is needed. The default
        implementation does nothing.
        """

    def close(self) -> None:
        """Release what was made for this object. The default implementation does nothing."""


class SerializerBuilder:
    """The base of builders, which make a serializer once the client's configuration is known."""

    __slots__: tuple[str, ...] = ()

    def build(self, conf: dict[str, Any], is_key: bool) -> tuple[Serializer, dict[str, Any]]:
        """Return the serializer, and the configuration without what it has used.

        Args:
            conf: the client's configuration.
            is_key: whether it is for keys.
        """
        raise NotImplementedError


class DeserializerBuilder:
    """The base of builders, which make a deserializer once the client's configuration is known."""

    __slots__: tuple[str, ...] = ()

    def build(self, conf: dict[str, Any], is_key: bool) -> tuple[Deserializer, dict[str, Any]]:
        """Return the deserializer, and the configuration without what it has used.

        Args:
            conf: the client's configuration.
            is_key: whether it is for keys.
        """
        raise NotImplementedError


def _pack(layout: str, obj: float) -> bytes:
    try:
        return struct.pack(layout, obj)
    except struct.error as error:
        raise SerializationError(str(error)) from error


def _unpack(layout: str, value: bytes) -> Any:
    try:
        return struct.unpack(layout, value)[0]
    except struct.error as error:
        raise SerializationError(str(error)) from error


class DoubleSerializer(Serializer):
    """Converts a float to 8 bytes (IEEE 754, binary64)."""

    def __call__(self, obj: float | None, ctx: SerializationContext | None = None) -> bytes | None:
        """Return the number as bytes.

        Raises:
            SerializationError: it is not a number.
        """
        del ctx
        return None if obj is None else _pack(">d", obj)


class DoubleDeserializer(Deserializer):
    """Converts 8 bytes (IEEE 754, binary64) to a float."""

    def __call__(
        self, value: bytes | None, ctx: SerializationContext | None = None
    ) -> float | None:
        """Return the number in the bytes.

        Raises:
            SerializationError: these are not 8 bytes.
        """
        del ctx
        return None if value is None else cast(float, _unpack(">d", value))


class IntegerSerializer(Serializer):
    """Converts an int to 4 bytes."""

    def __call__(self, obj: int | None, ctx: SerializationContext | None = None) -> bytes | None:
        """Return the number as bytes.

        Raises:
            SerializationError: it is not an integer of 32 bits.
        """
        del ctx
        return None if obj is None else _pack(">i", obj)


class IntegerDeserializer(Deserializer):
    """Converts 4 bytes to an int."""

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> int | None:
        """Return the number in the bytes.

        Raises:
            SerializationError: these are not 4 bytes.
        """
        del ctx
        return None if value is None else cast(int, _unpack(">i", value))


class StringSerializer(Serializer):
    """Converts a str to bytes.

    Args:
        codec: the name of the encoding.
    """

    def __init__(self, codec: str = "utf_8") -> None:
        self.codec = codec

    def __call__(self, obj: str | None, ctx: SerializationContext | None = None) -> bytes | None:
        """Return the text as bytes.

        Raises:
            SerializationError: the encoding lacks a character.
        """
        del ctx
        try:
            return None if obj is None else obj.encode(self.codec)
        except UnicodeError as error:
            raise SerializationError(str(error)) from error


class StringDeserializer(Deserializer):
    """Converts bytes to a str.

    Args:
        codec: the name of the encoding.
    """

    def __init__(self, codec: str = "utf_8") -> None:
        self.codec = codec

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> str | None:
        """Return the text in the bytes.

        Raises:
            SerializationError: these bytes are not text in the encoding.
        """
        del ctx
        try:
            return None if value is None else value.decode(self.codec)
        except UnicodeError as error:
            raise SerializationError(str(error)) from error
