"""How ``ottla consume`` prints records: as bytes, by a format, or as JSON.

Invariant: a record is flushed as soon as it is printed, so that a reader of the output sees it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ottla.cli.consume.decoding import as_text, decode
from ottla.cli.formats import Format, Record, compile_format, unescape

Output: TypeAlias = Callable[[Sequence[Record]], None]


def output_of(arguments: argparse.Namespace) -> Output:
    """Return the function that prints records.

    Raises:
        ConfigError: the format is malformed.
    """
    kinds = {
        part: kind
        for part, kind in (("key", arguments.key_as), ("value", arguments.value_as))
        if kind is not None
    }
    if arguments.json:
        return _printing(lambda record: as_json(record, kinds))
    format_record = _format(arguments)
    if not kinds:
        return _printing(format_record)

    def print_decoded(record: Record) -> bytes:
        texts = {part: as_text(decode(record, part, kind)) for part, kind in kinds.items()}
        key, value = texts.get("key", record.key), texts.get("value", record.value)
        return format_record(record._replace(key=key, value=value))

    return _printing(print_decoded)


def _printing(format_record: Format) -> Output:
    write, flush = sys.stdout.buffer.write, sys.stdout.buffer.flush

    def output(records: Sequence[Record]) -> None:
        for record in records:
            write(format_record(record))
        flush()

    return output


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
    """
    fields: dict[str, Any] = record._asdict()
    for part in ("key", "value"):
        data = fields[part]
        fields[part] = decode(record, part, kinds[part]) if part in kinds else _text(data)
    fields["headers"] = [[name, _text(value)] for name, value in record.headers or []]
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")
