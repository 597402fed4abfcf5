"""Deserializers for ``key_deserializer`` and ``value_deserializer``: from bytes to objects.

A deserializer is a callable that takes the bytes, or an object with ``deserialize(topic, data,
headers)``. It returns the record's key or value. A null key or value is None, without a call of the
deserializer. An exception in a deserializer raises a ``SerializationError``.

    ottla.Consumer("kafka:9092", value_deserializer=deserializers.json)
"""

from __future__ import annotations

import builtins
import json as _json
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T_co = TypeVar("T_co", covariant=True, default=Any)
else:  # TypeVar has defaults since Python 3.13
    from typing import TypeVar

    T_co = TypeVar("T_co", covariant=True)

__all__ = ["Deserializer", "bytes", "int", "int32", "json", "str"]


class Deserializer(Protocol[T_co]):
    """A deserializer that also gets the topic and the headers."""

    def deserialize(
        self,
        topic: builtins.str,
        data: builtins.bytes,
        headers: tuple[tuple[builtins.str, builtins.bytes | None], ...],
    ) -> T_co:
        """Deserialize a key or a value.

        Args:
            topic: the topic that the record was read from.
            data: the bytes; never null.
            headers: the record's headers.

        Returns:
            The record's key or value.
        """


def str(data: builtins.bytes) -> builtins.str:  # noqa: A001 - used as deserializers.str
    """Deserialize UTF-8 to a string.

    Raises:
        UnicodeDecodeError: the bytes are not UTF-8.
    """
    return data.decode()


def bytes(data: builtins.bytes) -> builtins.bytes:  # noqa: A001
    """Return the bytes unchanged."""
    return data


def json(data: builtins.bytes) -> Any:
    """Deserialize JSON in UTF-8, UTF-16 or UTF-32.

    Raises:
        ValueError: the bytes are not JSON, or nested deeper than the interpreter's recursion limit.
    """
    try:
        return _json.loads(data)
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None


def int(data: builtins.bytes) -> builtins.int:  # noqa: A001
    """Deserialize eight bytes, signed and big-endian, as Java's ``LongDeserializer`` does.

    Raises:
        ValueError: the length is not 8 bytes.
    """
    return _integer(data, 8)


def int32(data: builtins.bytes) -> builtins.int:
    """Deserialize four bytes, signed and big-endian, as Java's ``IntegerDeserializer`` does.

    Raises:
        ValueError: the length is not 4 bytes.
    """
    return _integer(data, 4)


def _integer(data: builtins.bytes, width: builtins.int) -> builtins.int:
    if len(data) != width:
        raise ValueError(f"expected {width} bytes, not {len(data)}")
    return builtins.int.from_bytes(data, "big", signed=True)
