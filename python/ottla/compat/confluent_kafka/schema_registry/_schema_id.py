"""Where a payload's schema is named: before the payload, or in a header.

Version 0 is a byte and an id of four bytes; version 1 is a byte and a GUID of 16 bytes. Payloads
of Protobuf have the indexes of the message after it, as zigzag varints with their number first; a
single 0 stands for the first message.
"""

from __future__ import annotations

import io
import struct
import uuid
from collections.abc import Sequence
from typing import Any

from ottla.compat.confluent_kafka.serialization import (
    MessageField,
    SerializationContext,
    SerializationError,
)

_KEY_SCHEMA_ID = "__key_schema_id"
_VALUE_SCHEMA_ID = "__value_schema_id"
_MAGIC_BYTE_V0 = 0
_MAGIC_BYTE_V1 = 1
_ID = struct.Struct(">BI")
# A message is not nested deeper; the number comes from the payload.
_MAX_INDEXES = 100_000


class SchemaId:
    """The id or the GUID of a schema, and the indexes of a message in it.

    Args:
        schema_type: AVRO, JSON or PROTOBUF.
        schema_id: the id.
        guid: the GUID, as text.
        message_indexes: the indexes of the message, from the outermost one.
    """

    __slots__ = ["guid", "id", "message_indexes", "schema_type"]

    def __init__(
        self,
        schema_type: str,
        schema_id: int | None = None,
        guid: str | None = None,
        message_indexes: list[int] | None = None,
    ) -> None:
        self.schema_type = schema_type
        self.id = schema_id
        self.guid = None if guid is None else uuid.UUID(guid)
        self.message_indexes = message_indexes

    def from_bytes(self, payload: io.BytesIO) -> io.BytesIO:
        """Read the id or the GUID, and return the rest of the payload."""
        magic = payload.read(1)
        if magic == b"\x00":
            self.id = int.from_bytes(_read(payload, 4), "big")
        elif magic == b"\x01":
            self.guid = uuid.UUID(bytes=_read(payload, 16))
        else:
            raise SerializationError("Invalid magic byte")
        if self.schema_type == "PROTOBUF":
            self.message_indexes = self._read_index_array(payload)
        return payload

    def id_to_bytes(self) -> bytes:
        """Return what stands before a payload: version 0 and the id."""
        if self.id is None:
            raise SerializationError("Schema ID is not set")
        return _ID.pack(_MAGIC_BYTE_V0, self.id) + self._indexes()

    def guid_to_bytes(self) -> bytes:
        """Return what stands in a header: version 1 and the GUID."""
        if self.guid is None:
            raise SerializationError("Schema GUID is not set")
        return bytes((_MAGIC_BYTE_V1,)) + self.guid.bytes + self._indexes()

    def _indexes(self) -> bytes:
        return b"" if self.message_indexes is None else encode_indexes(self.message_indexes)

    @staticmethod
    def _read_index_array(buf: io.BytesIO, zigzag: bool = True) -> list[int]:
        count = _read_varint(buf, zigzag)
        if not 0 <= count <= _MAX_INDEXES:
            raise SerializationError("Invalid msgidx array length")
        return [_read_varint(buf, zigzag) for _ in range(count)] if count else [0]


def _read(payload: io.BytesIO, length: int) -> bytes:
    data = payload.read(length)
    if len(data) < length:
        raise SerializationError("the payload ends within the id of its schema")
    return data


def _read_varint(buf: io.BytesIO, zigzag: bool) -> int:
    value = shift = 0
    while True:
        data = buf.read(1)
        if not data:
            raise EOFError("the payload ends within an index of its message")
        value |= (data[0] & 0x7F) << shift
        if data[0] < 0x80:
            break
        shift += 7
        if shift > 63:
            raise SerializationError("an index of the message is too large")
    return (value >> 1) ^ -(value & 1) if zigzag else value


def encode_varint(value: int, zigzag: bool = True) -> bytes:
    """Return a varint."""
    rest = (value << 1) ^ (value >> 63) if zigzag else value
    data = bytearray()
    while rest > 0x7F:
        data.append((rest & 0x7F) | 0x80)
        rest >>= 7
    data.append(rest)
    return bytes(data)


def encode_indexes(indexes: Sequence[int], zigzag: bool = True) -> bytes:
    """Return the indexes of a message, with their number first."""
    if list(indexes) == [0]:
        return b"\x00"
    values = [len(indexes), *indexes]
    return b"".join(encode_varint(value, zigzag) for value in values)


def _header_key(ctx: SerializationContext) -> str:
    return _KEY_SCHEMA_ID if ctx.field == MessageField.KEY else _VALUE_SCHEMA_ID


def header_of(ctx: SerializationContext | None) -> Any:
    """Return the header that names the schema of a payload, or None."""
    if ctx is None or not ctx.headers:
        return None
    key = _header_key(ctx)
    headers: Any = ctx.headers
    if isinstance(headers, dict):
        return headers.get(key)
    if isinstance(headers, list):
        return next((header[1] for header in headers if header[0] == key), None)
    return None


def header_schema_id_serializer(
    payload: bytes, ctx: SerializationContext | None, schema_id: SchemaId
) -> bytes:
    """Put the GUID of the schema into a header, and return the payload as it is."""
    if ctx is None:
        raise SerializationError("SerializationContext is required for header_schema_id_serializer")
    if ctx.headers is None:
        raise SerializationError("Missing headers")
    headers: Any = ctx.headers
    if isinstance(headers, list):
        headers.append((_header_key(ctx), schema_id.guid_to_bytes()))
    elif isinstance(headers, dict):
        headers[_header_key(ctx)] = schema_id.guid_to_bytes()
    else:
        raise SerializationError("Invalid headers type")
    return payload


def prefix_schema_id_serializer(
    payload: bytes, ctx: SerializationContext | None, schema_id: SchemaId
) -> bytes:
    """Return the payload with the id of the schema before it."""
    return schema_id.id_to_bytes() + payload


def dual_schema_id_deserializer(
    payload: bytes, ctx: SerializationContext | None, schema_id: SchemaId
) -> io.BytesIO:
    """Read the id from a header, or else from before the payload; return the payload."""
    header = header_of(ctx)
    if header is None:
        return schema_id.from_bytes(io.BytesIO(payload))
    schema_id.from_bytes(io.BytesIO(header))
    return io.BytesIO(payload)


def prefix_schema_id_deserializer(
    payload: bytes, ctx: SerializationContext | None, schema_id: SchemaId
) -> io.BytesIO:
    """Read the id from before the payload; return the payload."""
    return schema_id.from_bytes(io.BytesIO(payload))
