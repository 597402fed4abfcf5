"""``BatchBuilder``: records that a program sends together to one partition.

Invariant: a batch is full by the size that its records have on the wire, uncompressed, so that a
program's batches have the same records as with aiokafka.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

__all__ = ["BatchBuilder", "record_size", "serialized"]

# The header of a record batch, and the most that a record takes besides its contents: the lengths
# of the record, key and value, the deltas of timestamp and offset, attributes, count of headers.
_BATCH_OVERHEAD = 61
_RECORD_OVERHEAD = 21

Headers = Sequence[tuple[str, bytes | None]]
Serializer = Callable[[Any], Any]


class AppendedRecord(NamedTuple):
    """A record in a batch: its place, size in bytes, and timestamp in milliseconds since 1970."""

    offset: int
    size: int
    timestamp: int
    crc: None = None


def _varint_size(number: int) -> int:
    """The bytes of a signed number in zigzag encoding."""
    encoded = (number << 1) ^ (number >> 63)
    return max(1, (encoded.bit_length() + 6) // 7)


def _field_size(data: bytes | None) -> int:
    return 1 if data is None else _varint_size(len(data)) + len(data)


def _headers_size(headers: Headers) -> int:
    size = _varint_size(len(headers))
    for name, value in headers:
        size += _field_size(name.encode()) + _field_size(value)
    return size


def record_size(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Return the most that a batch with this one record takes."""
    content = _field_size(key) + _field_size(value) + _headers_size(headers)
    return _BATCH_OVERHEAD + _RECORD_OVERHEAD + content


def serialized(serializer: Serializer | None, data: Any) -> bytes | None:
    """Return a key or a value as bytes.

    Raises:
        TypeError: there is no serializer, or it does not return bytes.
    """
    result = data if serializer is None else serializer(data)
    if type(result) is bytes or result is None:
        return result
    if isinstance(result, bytearray | memoryview):
        return bytes(result)
    raise TypeError(f"keys and values must be bytes or None, not {type(result).__name__}")


class BatchBuilder:
    """Collects records until the batch is full; ``create_batch`` returns one."""

    def __init__(
        self,
        batch_size: int,
        *,
        key_serializer: Serializer | None = None,
        value_serializer: Serializer | None = None,
    ) -> None:
        self._limit = batch_size
        self._key_serializer = key_serializer
        self._value_serializer = value_serializer
        self._size = _BATCH_OVERHEAD
        self._closed = False
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.headers: list[Headers] = []
        self.timestamps: list[int] = []

    def append(
        self, *, timestamp: int | None, key: Any, value: Any, headers: Headers | None = None
    ) -> AppendedRecord | None:
        """Add a record, and return its place and size; None if the batch is full or closed.

        Args:
            timestamp: milliseconds since 1970. Default: None, now.
            key: bytes or None, or what the serializer accepts.
            value: the same.
            headers: pairs of a name and bytes.
        """
        if self._closed:
            return None
        key_bytes = serialized(self._key_serializer, key)
        value_bytes = serialized(self._value_serializer, value)
        time_ms = int(time.time() * 1000) if timestamp is None else int(timestamp)
        size = self._record_size(time_ms, key_bytes, value_bytes, headers or ())
        if self.keys and self._size + size > self._limit:
            self.close()
            return None
        self.keys.append(key_bytes)
        self.values.append(value_bytes)
        self.headers.append(headers or ())
        self.timestamps.append(time_ms)
        self._size += size
        return AppendedRecord(len(self.keys) - 1, size, time_ms)

    def close(self) -> None:
        """Let no more records in."""
        self._closed = True

    def size(self) -> int:
        """Return the size in bytes."""
        return self._size

    def record_count(self) -> int:
        """Return the number of records."""
        return len(self.keys)

    def closed(self) -> bool:
        """Return whether the batch is full or closed."""
        return self._closed

    def _record_size(
        self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers
    ) -> int:
        first = self.timestamps[0] if self.timestamps else timestamp
        size = (
            1
            + _varint_size(timestamp - first)
            + _varint_size(len(self.keys))
            + _field_size(key)
            + _field_size(value)
            + _headers_size(headers)
        )
        return _varint_size(size) + size
