"""Serializers for ``key_serializer`` and ``value_serializer``: from objects to bytes.

A serializer is a callable that takes the key or value, or an object with ``serialize(topic, value,
headers)``. It returns bytes, a string (sent as UTF-8) or None. A None key or value is sent as null,
without a call of the serializer. An exception in a serializer raises a ``SerializationError``.

    ottla.Producer("kafka:9092", key_serializer=serializers.str, value_serializer=serializers.json)
"""

from __future__ import annotations

import builtins
import json as _json
from collections.abc import Sequence
from typing import Any, Protocol

__all__ = ["Serializer", "bytes", "int", "int32", "json", "str"]


class Serializer(Protocol):
    """A serializer that also gets the topic and the headers."""

    def serialize(
        self,
        topic: builtins.str,
        value: Any,
        headers: Sequence[tuple[builtins.str | builtins.bytes, Any]],
    ) -> builtins.bytes | builtins.str | None:
        """Serialize a key or a value.

        Args:
            topic: the topic that the record is sent to.
            value: the key or the value; never None.
            headers: the record's headers, as passed to ``send``.

        Returns:
            Bytes, a string (sent as UTF-8), or None for null.
        """


def str(value: builtins.str) -> builtins.bytes:  # noqa: A001 - used as serializers.str
    """Serialize a string as UTF-8.

    Raises:
        TypeError: the value is not a string.
    """
    if not isinstance(value, builtins.str):
        raise TypeError(f"expected str, not {type(value).__name__}")
    return value.encode()


def bytes(value: builtins.bytes | bytearray | memoryview) -> builtins.bytes:  # noqa: A001
    """Return the value as bytes, unchanged.

    Raises:
        TypeError: the value is not bytes, ``bytearray`` or ``memoryview``.
    """
    if not isinstance(value, builtins.bytes | bytearray | memoryview):
        raise TypeError(f"expected bytes, not {type(value).__name__}")
    return value if isinstance(value, builtins.bytes) else builtins.bytes(value)


def json(value: Any) -> builtins.bytes:
    """Serialize a value as compact JSON in UTF-8.

    Raises:
        TypeError: the value has a type that JSON does not support.
        ValueError: the value contains NaN or infinity.
    """
    text = _json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def int(value: builtins.int) -> builtins.bytes:  # noqa: A001
    """Serialize an int as eight bytes, signed and big-endian, as Java's ``LongSerializer`` does.

    Raises:
        TypeError: the value is not an int.
        OverflowError: the value needs more than eight bytes.
    """
    return _integer(value, 8)


def int32(value: builtins.int) -> builtins.bytes:
    """Serialize an int as four bytes, signed and big-endian, as Java's ``IntegerSerializer`` does.

    Raises:
        TypeError: the value is not an int.
        OverflowError: the value needs more than four bytes.
    """
    return _integer(value, 4)


def _integer(value: Any, width: builtins.int) -> builtins.bytes:
    # A bool is an instance of int, but a mistake here.
    if not isinstance(value, builtins.int) or isinstance(value, bool):
        raise TypeError(f"expected int, not {type(value).__name__}")
    return builtins.int.to_bytes(value, width, "big", signed=True)
