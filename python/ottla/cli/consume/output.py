"""How ``ottla consume`` prints records: as bytes, by a format, or as JSON.

Invariants: a record is flushed as soon as it is printed, so that a reader of the output sees it.
One that cannot be decoded by its schema is reported on standard error, and printed only as JSON. A
large key or value is printed in pieces, without a copy of all of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ottla.cli.consume.decoding import as_text, decode, json_text
from ottla.cli.consume.large_values import is_large, json_string
from ottla.cli.formats import Format, Record, compile_format, unescape


class Output:
    """Prints records.

    Args:
        format_record: formats a record.
        prints_failed: whether records that cannot be decoded are printed, too.
    """

    def __init__(self, format_record: Format, *, prints_failed: bool = False) -> None:
        self.failed = 0
        self._format_record = format_record
        self._prints_failed = prints_failed

    def __call__(self, records: Sequence[Record]) -> None:
        write, flush = sys.stdout.buffer.write, sys.stdout.buffer.flush
        for record in records:
            if record.error is not None:
                self.failed += 1
                where = f"{record.topic}-{record.partition} at offset {record.offset}"
                print(f"ottla: {where} cannot be decoded: {record.error}", file=sys.stderr)
            if record.error is None or self._prints_failed:
                for piece in self._format_record(record):
                    write(piece)
        flush()


def output_of(arguments: argparse.Namespace) -> Output:
    """Return what prints records.

    Raises:
        ConfigError: the format is malformed.
    """
    kinds = {
        part: kind
        for part, kind in (("key", arguments.key_as), ("value", arguments.value_as))
        if kind is not None
    }
    if arguments.json:
        return Output(lambda record: json_pieces(record, kinds), prints_failed=True)
    format_record = _format(arguments)
    if not kinds:
        return Output(format_record)

    def print_decoded(record: Record) -> Iterable[bytes]:
        texts = {part: as_text(decode(record, part, kind)) for part, kind in kinds.items()}
        key, value = texts.get("key", record.key), texts.get("value", record.value)
        return format_record(record._replace(key=key, value=value))

    return Output(print_decoded)


def _format(arguments: argparse.Namespace) -> Format:
    """Return the function that formats a record."""
    if arguments.format is not None:
        return compile_format(arguments.format).pieces
    end = unescape(arguments.delimiter)
    if arguments.key_delimiter is None:
        return lambda record: (record.value or b"", end)
    delimiter = unescape(arguments.key_delimiter)
    return lambda record: (record.key or b"", delimiter, record.value or b"", end)


def as_json(record: Record, kinds: dict[str, str]) -> bytes:
    """Return a record as a line of JSON; bytes that are not UTF-8 become U+FFFD.

    Args:
        record: the record.
        kinds: what the key and the value are, if not text.
    """
    return json_text(_json_fields(record, kinds)).encode() + b"\n"


def json_pieces(record: Record, kinds: dict[str, str]) -> Iterable[bytes]:
    """Return the line of ``as_json`` in pieces; large values are turned into text as they are read.

    Raises:
        SerializationError: as for ``as_json``; not later, by a piece.
    """
    known = {*(record.objects or {}), *kinds}
    large = {
        part: data
        for part, data in (("key", record.key), ("value", record.value))
        if part not in known and data is not None and is_large(data)
    }
    if not large:
        return [as_json(record, kinds)]
    small = record._replace(
        key=None if "key" in large else record.key,
        value=None if "value" in large else record.value,
    )
    fields = _json_fields(small, kinds)
    return _pieces(fields, large)


def _pieces(fields: dict[str, Any], large: dict[str, bytes]) -> Iterator[bytes]:
    separator = "{"
    for name, value in fields.items():
        yield f"{separator}{json_text(name)}: ".encode()
        if name in large:
            yield from json_string(large[name])
        else:
            yield json_text(value).encode()
        separator = ", "
    yield b"}\n"


def _json_fields(record: Record, kinds: dict[str, str]) -> dict[str, Any]:
    fields: dict[str, Any] = record._asdict()
    objects = fields.pop("objects") or {}
    if record.error is None:
        del fields["error"]
    for part in ("key", "value"):
        if part in objects:
            fields[part] = objects[part]
        elif part in kinds:
            fields[part] = decode(record, part, kinds[part])
        else:
            fields[part] = _text(fields[part])
    fields["headers"] = [[name, _text(value)] for name, value in record.headers or []]
    return fields


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")
