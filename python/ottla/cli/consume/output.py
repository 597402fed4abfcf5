"""How ``ottla consume`` prints records: as bytes, by a format, or as JSON.

Invariant: a record is flushed as soon as it is printed, so that a reader of the output sees it. One
that is not what its schema or an argument says is reported on standard error, and printed only as
JSON; those after it are printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from ottla.cli.consume.decoding import as_text, decode, json_text
from ottla.cli.formats import Format, Record, compile_format, unescape
from ottla.cli.streams import encoded
from ottla.errors import SerializationError


class Output:
    """Prints records.

    Args:
        format_record: formats a record.
        prints_failed: whether records that cannot be decoded are printed, too, as JSON.
    """

    def __init__(self, format_record: Format, *, prints_failed: bool = False) -> None:
        self.failed = 0
        self._format_record = format_record
        self._prints_failed = prints_failed

    def __call__(self, records: Sequence[Record]) -> None:
        write, flush = sys.stdout.buffer.write, sys.stdout.buffer.flush
        for record in records:
            if record.error is not None:
                where = f"{record.topic}-{record.partition} at offset {record.offset}"
                self._report(f"{where} cannot be decoded: {record.error}")
                if not self._prints_failed:
                    continue
            try:
                line = self._format_record(record)
            except SerializationError as error:
                self._report(str(error))
                if not self._prints_failed:
                    continue
                line = as_json(record._replace(error=str(error)), {})
            write(line)
        flush()

    def _report(self, message: str) -> None:
        self.failed += 1
        print(f"ottla: {message}", file=sys.stderr)


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
        return Output(lambda record: as_json(record, kinds), prints_failed=True)
    format_record = _format(arguments)
    if not kinds:
        return Output(format_record)

    def print_decoded(record: Record) -> bytes:
        texts = {part: as_text(decode(record, part, kind)) for part, kind in kinds.items()}
        key, value = texts.get("key", record.key), texts.get("value", record.value)
        return format_record(record._replace(key=key, value=value))

    return Output(print_decoded)


def _format(arguments: argparse.Namespace) -> Format:
    """Return the function that formats a record."""
    if arguments.format is not None:
        return compile_format(arguments.format)
    end = unescape(arguments.delimiter)
    if arguments.key_delimiter is None:
        return lambda record: (record.value or b"") + end
    delimiter = unescape(arguments.key_delimiter)
    return lambda record: (record.key or b"") + delimiter + (record.value or b"") + end


def as_json(record: Record, kinds: dict[str, str]) -> bytes:
    """Return a record as a line of JSON; bytes that are not UTF-8 become U+FFFD.

    Args:
        record: the record.
        kinds: what the key and the value are, if not text.

    Raises:
        SerializationError: they are something else.
    """
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
    return encoded(json_text(fields)) + b"\n"


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")
