"""The part of a record that the Messages page shows: texts of bounded length.

Invariant: bytes that are not text are shown as hexadecimal digits, never with replaced characters.
"""

from __future__ import annotations

import json
from typing import Any

from ottla.cli.consume.decoding import decode, json_text
from ottla.cli.consume.large_values import is_large, texts
from ottla.cli.formats import Record
from ottla.cli.schema_options import PARTS
from ottla.console.messages.command import Command
from ottla.errors import SerializationError


def rendered(record: Record, command: Command, most: int) -> dict[str, Any]:
    """Return the part of a record that the page shows.

    Args:
        record: the record.
        command: the command that has read it.
        most: the largest number of characters of a key, a value or a header.
    """
    shown: dict[str, Any] = {part: _part(record, part, command, most) for part in PARTS}
    headers = [
        [name[:most], None if value is None else _text(value, most)]
        for name, value in record.headers or []
    ]
    return {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "headers": headers,
        "error": record.error,
        **shown,
    }


def _part(record: Record, part: str, command: Command, most: int) -> dict[str, Any] | None:
    data: bytes | None = getattr(record, part)
    if data is None:
        return None
    if record.objects is not None and part in record.objects:
        return _shown("json", json_text(record.objects[part]), len(data), most)
    kind = command.kinds.get(part)
    if kind is None:
        return _text(data, most)
    try:
        value = decode(record, part, kind)
    except SerializationError as error:
        return {**_text(data, most), "error": str(error)}
    text = value if isinstance(value, str) else json_text(value)
    return _shown(kind, text, len(data), most)


def _text(data: bytes, most: int) -> dict[str, Any]:
    """Return bytes as JSON or text, or else as hexadecimal digits."""
    try:
        text = _start_of_text(data, most) if is_large(data) else data.decode()
    except UnicodeDecodeError:
        return _shown("hex", data[: most // 2 + 1].hex(), len(data), most)
    # Parsing holds the GIL, so it is skipped for a text that will be cut anyway.
    is_json = len(text) <= most and _is_json(text)
    return _shown("json" if is_json else "text", text, len(data), most)


def _start_of_text(data: bytes, most: int) -> str:
    """Return the first characters of a large text, and one more if there are more."""
    start = ""
    # The whole value is decoded piece by piece, since bytes that are not text may follow.
    for text in texts(data, "strict"):
        start += text[: most + 1 - len(start)]
    return start


def _shown(kind: str, text: str, size: int, most: int) -> dict[str, Any]:
    # JSON escapes may contain half of a surrogate pair, which cannot be encoded.
    shown = text[:most].encode(errors="backslashreplace").decode()
    return {"kind": kind, "text": shown, "size": size, "cut": len(text) > most}


def _is_json(text: str) -> bool:
    """Return whether a text is a JSON object or array."""
    if text[:1] not in {"{", "["}:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
