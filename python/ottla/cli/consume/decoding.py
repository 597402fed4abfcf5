"""The interpretation of bytes, for ``--key-as``, ``--value-as`` and ``--header-as``.

Invariant: bytes that are not of the given type are an error that names the record.
"""

from __future__ import annotations

import base64
import json
import struct
import uuid
from collections.abc import Callable
from typing import Any

from ottla.cli.formats import Record
from ottla.cli.streams import encoded
from ottla.errors import SerializationError


def _number(form: str) -> Callable[[bytes], Any]:
    return lambda data: struct.unpack(form, data)[0]


DECODERS: dict[str, Callable[[bytes], Any]] = {
    "string": lambda data: data.decode(),
    "json": json.loads,
    "hex": bytes.hex,
    "base64": lambda data: base64.b64encode(data).decode(),
    "short": _number(">h"),
    "integer": _number(">i"),
    "long": _number(">q"),
    "float": _number(">f"),
    "double": _number(">d"),
    "uuid": lambda data: str(uuid.UUID(data.decode())),
}
"""The functions by type name: Kafka's deserializers, and text encodings of any bytes."""


def decode(record: Record, part: str, kind: str) -> Any:
    """Return the key or value of a record.

    Raises:
        SerializationError: the bytes are not of this kind.
    """
    data: bytes | None = getattr(record, part)
    return None if data is None else decode_bytes(record, part, data, kind)


def decode_bytes(record: Record, part: str, data: bytes, kind: str) -> Any:
    """Return bytes of a record as a value of a kind.

    Raises:
        SerializationError: the bytes are not of this kind.
    """
    try:
        return DECODERS[kind](data)
    except (ValueError, RecursionError, struct.error) as error:
        raise SerializationError(
            f"{record.topic}-{record.partition} at offset {record.offset}: the {part} is not "
            f"a valid {kind}, in {len(data)} bytes: {error}"
        ) from None


json_text = json.JSONEncoder(ensure_ascii=False).encode
"""Returns a value as JSON on one line."""


def as_text(value: Any) -> bytes | None:
    """Return a decoded key or value as text."""
    if value is None:
        return None
    return encoded(value if isinstance(value, str) else json_text(value))
