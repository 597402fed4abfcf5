"""What turns keys and values into bytes: for ``key_serializer`` and ``value_serializer``.

A serializer is a callable that takes the value, or an object with ``serialize(topic, value,
headers)``; both return bytes, text (sent as UTF-8) or None. None, a tombstone, is sent as it is and
never serialized. What a serializer raises becomes a ``SerializationError``.

    ottla.Producer("kafka:9092", key_serializer=serializers.str, value_serializer=serializers.json)
"""

from __future__ import annotations

import builtins
import json as _json
from collections.abc import Sequence
from typing import Any, Protocol

__all__ = ["Serializer", "bytes", "int", "int32", "json", "str"]


class Serializer(Protocol):
    """A serializer that wants to know more than the value."""

    def serialize(
        self,
        topic: builtins.str,
        value: Any,
        headers: Sequence[tuple[builtins.str | builtins.bytes, Any]],
    ) -> builtins.bytes | builtins.str | None:
        """The value as bytes."""


def str(value: builtins.str) -> builtins.bytes:  # noqa: A001 - used as serializers.str
    """Text as UTF-8; nothing else."""
    if not isinstance(value, builtins.str):
        raise TypeError(f"expected str, not {type(value).__name__}")
    return value.encode()


def bytes(value: builtins.bytes | bytearray | memoryview) -> builtins.bytes:  # noqa: A001
    """Bytes as they are; nothing else."""
    if not isinstance(value, builtins.bytes | bytearray | memoryview):
        raise TypeError(f"expected bytes, not {type(value).__name__}")
    return value if isinstance(value, builtins.bytes) else builtins.bytes(value)


def json(value: Any) -> builtins.bytes:
    """JSON as UTF-8, without needless spaces; NaN and infinity are errors."""
    text = _json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def int(value: builtins.int) -> builtins.bytes:  # noqa: A001
    """Eight bytes, as Java's ``LongSerializer`` has it: signed, the highest first."""
    return _integer(value, 8)


def int32(value: builtins.int) -> builtins.bytes:
    """Four bytes, as Java's ``IntegerSerializer`` has it: signed, the highest first."""
    return _integer(value, 4)


def _integer(value: Any, width: builtins.int) -> builtins.bytes:
    # A bool is an int to Python, and a mistake here.
    if not isinstance(value, builtins.int) or isinstance(value, bool):
        raise TypeError(f"expected int, not {type(value).__name__}")
    return builtins.int.to_bytes(value, width, "big", signed=True)
