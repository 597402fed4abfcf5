"""What makes objects of the bytes of keys and values: for ``key_deserializer`` and
``value_deserializer``.

A deserializer is a callable that takes the bytes, or an object with ``deserialize(topic, data,
headers)``; both return whatever the record is to have. A key or value that is null is None, and
never deserialized. What a deserializer raises becomes a ``SerializationError``.

    ottla.Consumer("kafka:9092", value_deserializer=deserializers.json)
"""

from __future__ import annotations

import builtins
import json as _json
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T_co = TypeVar("T_co", covariant=True, default=Any)
else:  # the default came with Python 3.13
    from typing import TypeVar

    T_co = TypeVar("T_co", covariant=True)

__all__ = ["Deserializer", "bytes", "int", "int32", "json", "str"]


class Deserializer(Protocol[T_co]):
    """A deserializer that wants to know more than the bytes."""

    def deserialize(
        self,
        topic: builtins.str,
        data: builtins.bytes,
        headers: tuple[tuple[builtins.str, builtins.bytes | None], ...],
    ) -> T_co:
        """The bytes as an object."""


def str(data: builtins.bytes) -> builtins.str:  # noqa: A001 - used as deserializers.str
    """UTF-8 as text."""
    return data.decode()


def bytes(data: builtins.bytes) -> builtins.bytes:  # noqa: A001
    """Bytes as they are."""
    return data


def json(data: builtins.bytes) -> Any:
    """JSON as UTF-8."""
    return _json.loads(data)


def int(data: builtins.bytes) -> builtins.int:  # noqa: A001
    """Eight bytes, as Java's ``LongSerializer`` has it: signed, the highest first."""
    return _integer(data, 8)


def int32(data: builtins.bytes) -> builtins.int:
    """Four bytes, as Java's ``IntegerSerializer`` has it: signed, the highest first."""
    return _integer(data, 4)


def _integer(data: builtins.bytes, width: builtins.int) -> builtins.int:
    if len(data) != width:
        raise ValueError(f"expected {width} bytes, not {len(data)}")
    return builtins.int.from_bytes(data, "big", signed=True)
