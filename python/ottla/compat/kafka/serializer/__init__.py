"""Serializers and deserializers of kafka-python: of any object, of text, of JSON.

A producer calls ``serialize(topic, headers, data)``; a consumer calls
``deserialize(topic, headers, data)``. Classes with the older ``serialize(topic, value)`` and plain
functions work as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ottla.compat.kafka.serializer.abstract import Deserializer, Serializer

__all__ = [
    "DefaultSerializer",
    "DeserializeWrapper",
    "Deserializer",
    "JsonSerializer",
    "SerializeWrapper",
    "Serializer",
]


class DefaultSerializer(Serializer, Deserializer):
    """Text as bytes; bytes and None stay as they are."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self.encoding = encoding

    def serialize(self, topic: str, headers: Any, data: Any) -> Any:
        """Return the bytes."""
        if data is None or isinstance(data, bytes | bytearray | memoryview):
            return data
        return data.encode(self.encoding)

    def deserialize(self, topic: str, headers: Any, data: bytes | None) -> Any:
        """Return the text."""
        return None if data is None else data.decode(self.encoding)


class JsonSerializer(DefaultSerializer):
    """JSON as text."""

    def serialize(self, topic: str, headers: Any, data: Any) -> Any:
        """Return the bytes of the JSON text; None for None."""
        return None if data is None else super().serialize(topic, headers, json.dumps(data))

    def deserialize(self, topic: str, headers: Any, data: bytes | None) -> Any:
        """Return the value of the JSON text; None for None."""
        text = super().deserialize(topic, headers, data)
        return None if text is None else json.loads(text)


class SerializeWrapper(Serializer):
    """A function as a serializer."""

    def __init__(self, fn: Callable[[Any], Any] | None) -> None:
        self.fn = fn

    def serialize(self, topic: str, headers: Any, data: Any) -> Any:
        """Return the function's result."""
        return data if self.fn is None else self.fn(data)


class DeserializeWrapper(Deserializer):
    """A function as a deserializer."""

    def __init__(self, fn: Callable[[Any], Any] | None) -> None:
        self.fn = fn

    def deserialize(self, topic: str, headers: Any, data: Any) -> Any:
        """Return the function's result."""
        return data if self.fn is None else self.fn(data)
