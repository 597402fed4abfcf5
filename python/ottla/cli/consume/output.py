"""How ``ottla consume`` prints records: as bytes, by a format, or as JSON.

Invariants: a record is flushed as soon as it is printed, so that a reader of the output sees it. A
record that does not match its schema or the given types is reported on standard error and printed
only with JSON output; the records after it are printed. A line of JSON names the parts whose bytes
were not UTF-8 and became U+FFFD. A large key or value is printed in pieces, without a complete copy
of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypedDict

from ottla.cli.consume.decoding import as_text, decode, json_text
from ottla.cli.consume.headers import HeaderKinds, decoded_headers, header_kinds
from ottla.cli.consume.large_values import is_large, is_utf8, json_string
from ottla.cli.consume.topics import shows_topic
from ottla.cli.formats import Format, Record, compile_format, unescape
from ottla.cli.messages import say_error
from ottla.cli.streams import encoded
from ottla.errors import SerializationError

_PARTS = ("key", "value", "headers")
_NO_KINDS: HeaderKinds = {}


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
                self._report(f"{where} cannot be decoded: {record.error}", record)
                if not self._prints_failed:
                    continue
            try:
                pieces = self._format_record(record)
            except SerializationError as error:
                self._report(error, record)
                if not self._prints_failed:
                    continue
                pieces = failed_line(record, error)
            for piece in pieces:
                write(piece)
        flush()

    def _report(self, error: SerializationError | str, record: Record) -> None:
        self.failed += 1
        item = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
        say_error(error, name="SerializationError", item=item)


class _RecordFields(TypedDict):
    """The fields of every record."""

    key: Any
    value: Any
    topic: str
    partition: int
    offset: int
    timestamp: int | None
    headers: list[list[str | None]]


class JsonRecord(_RecordFields, total=False):
    """A record as a line of JSON.

    Attributes:
        key: the key: text, or what its format or type makes of it.
        value: the value, likewise.
        topic: the topic.
        partition: the partition.
        offset: the offset.
        timestamp: milliseconds since 1970; null after the year 294,246.
        headers: the name and the value of each header.
        key_type: the name of the type of the key, if it is read as written; null if it has none.
        value_type: that of the value, likewise.
        error: why its key or value cannot be decoded.
    """

    key_type: str | None
    value_type: str | None
    error: str


def output_of(arguments: argparse.Namespace) -> Output:
    """Return the printer for the arguments of a command.

    Raises:
        ConfigError: the format is malformed.
    """
    kinds = {
        part: kind
        for part, kind in (("key", arguments.key_as), ("value", arguments.value_as))
        if kind is not None
    }
    headers = header_kinds(arguments.header_as)
    if arguments.json:
        return Output(lambda record: json_pieces(record, kinds, headers), prints_failed=True)
    format_record = _format(arguments)
    if not kinds and not headers:
        return Output(format_record)

    def print_decoded(record: Record) -> Iterable[bytes]:
        texts: dict[str, Any] = {
            part: as_text(decode(record, part, kind)) for part, kind in kinds.items()
        }
        if headers:
            decoded = decoded_headers(record, headers)
            texts["headers"] = [(name, _as_bytes(value)) for name, value in decoded]
        return format_record(record._replace(**texts))

    return Output(print_decoded)


def _format(arguments: argparse.Namespace) -> Format:
    """Return the function that formats a record."""
    if arguments.format is not None:
        return compile_format(arguments.format).pieces
    end = unescape(arguments.delimiter)
    if arguments.key_delimiter is None:

        def format_record(record: Record) -> Sequence[bytes]:
            return record.value or b"", end
    else:
        delimiter = unescape(arguments.key_delimiter)

        def format_record(record: Record) -> Sequence[bytes]:
            return record.key or b"", delimiter, record.value or b"", end

    if not shows_topic(arguments):
        return format_record
    return lambda record: (record.topic.encode(), b"\t", *format_record(record))


def _as_bytes(value: Any) -> bytes | None:
    return value if isinstance(value, bytes) else as_text(value)


def as_json(record: Record, kinds: dict[str, str], headers: HeaderKinds = _NO_KINDS) -> bytes:
    """Return a record as a line of JSON; bytes that are not UTF-8 become U+FFFD.

    Args:
        record: the record.
        kinds: the types of the key and the value, if they are not text.
        headers: the types of headers, if they are not text.

    Raises:
        SerializationError: the key, the value or a header is not of its type.
    """
    return encoded(json_text(_json_fields(record, kinds, headers))) + b"\n"


def json_pieces(
    record: Record, kinds: dict[str, str], headers: HeaderKinds = _NO_KINDS
) -> Iterable[bytes]:
    """Return the line of ``as_json`` in pieces. A large value becomes text piece by piece.

    Raises:
        SerializationError: as for ``as_json``. The call raises it, not the iteration.
    """
    known = {*(record.objects or {}), *kinds}
    large = {
        part: data
        for part, data in (("key", record.key), ("value", record.value))
        if part not in known and data is not None and is_large(data)
    }
    if not large:
        return [as_json(record, kinds, headers)]
    small = record._replace(
        key=None if "key" in large else record.key,
        value=None if "value" in large else record.value,
    )
    fields = _json_fields(small, kinds, headers)
    if replaced := {part for part, data in large.items() if not is_utf8(data)}:
        also = replaced.union(fields.get("replaced", []))
        fields["replaced"] = [part for part in _PARTS if part in also]
    return _pieces(fields, large)


def failed_line(record: Record, error: SerializationError) -> Iterable[bytes]:
    """Return the line of a record that is not of the given types: as text, with the error."""
    return json_pieces(record._replace(error=str(error)), {})


def _pieces(fields: dict[str, Any], large: dict[str, bytes]) -> Iterator[bytes]:
    separator = "{"
    for name, value in fields.items():
        yield encoded(f"{separator}{json_text(name)}: ")
        if name in large:
            yield from json_string(large[name])
        else:
            yield encoded(json_text(value))
        separator = ", "
    yield b"}\n"


def _json_fields(record: Record, kinds: dict[str, str], headers: HeaderKinds) -> dict[str, Any]:
    fields: dict[str, Any] = record._asdict()
    replaced: set[str] = set()
    objects = fields.pop("objects") or {}
    types = fields.pop("types") or {}
    fields |= {f"{part}_type": name for part, name in types.items()}
    if record.error is None:
        del fields["error"]
    for part in ("key", "value"):
        if part in objects:
            fields[part] = objects[part]
        elif part in kinds:
            fields[part] = decode(record, part, kinds[part])
        else:
            fields[part] = _text(part, fields[part], replaced)
    fields["headers"] = [
        [name, _text("headers", value, replaced)]
        for name, value in decoded_headers(record, headers)
    ]
    if replaced:
        fields["replaced"] = [part for part in _PARTS if part in replaced]
    return fields


def _text(part: str, value: Any, replaced: set[str]) -> Any:
    """Return bytes as text, and note the part if bytes were replaced; other values stay."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        replaced.add(part)
        return value.decode(errors="replace")
