"""Records as files: JSON lines as ``ottla consume --json`` prints them, CSV, or Parquet.

Invariants: a Parquet file contains the original bytes of records; in other files, a key or value
with a schema is JSON; no cell of a CSV file is a formula, which a spreadsheet would run. The name
of an incomplete file contains ``.part``. A file is sent as fast as its reader reads it. Files are
created while they are sent, large text values in pieces and Parquet in row groups, so that a file
that is six times as large as its records never has to fit into memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ottla.cli.consume.decoding import as_text, decode, json_text
from ottla.cli.consume.large_values import is_large, texts
from ottla.cli.consume.output import failed_line, json_pieces
from ottla.cli.formats import Record
from ottla.cli.schema_options import PARTS
from ottla.cli.streams import encoded
from ottla.console.messages.command import Command
from ottla.console.messages.parquet_file import parquet_file
from ottla.console.messages.reading import Reading
from ottla.errors import SerializationError

_TYPES = {
    "jsonl": "application/jsonl",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
# The characters that begin a formula in spreadsheets: including wide forms and skipped characters.
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
# What makes a cell of CSV need quotation marks.
_QUOTED = re.compile('[",\r\n]')
# The bytes that are sent before the reader must have read the previous ones.
_BLOCK = 64 * 1024


class Download(Response):
    """A file.

    Attributes:
        on_sent: called once the file was sent or its reader is gone.
    """

    on_sent: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, pieces: Iterable[bytes], media_type: str, headers: dict[str, str]) -> None:
        super().__init__(None, headers=headers, media_type=media_type)
        # The length is unknown until the file was sent.
        del self.headers["content-length"]
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file in blocks."""
        del scope, receive
        try:
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
            for block in _blocks(self._pieces):
                await send({"type": "http.response.body", "body": block, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self.on_sent()


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the bytes of all pieces in blocks of one size; the last one is smaller."""
    waiting = bytearray()
    for piece in pieces:
        view = memoryview(piece)
        while view:
            part = view[: _BLOCK - len(waiting)]
            waiting += part
            view = view[len(part) :]
            if len(waiting) == _BLOCK:
                yield bytes(waiting)
                waiting.clear()
    if waiting:
        yield bytes(waiting)


def download(reading: Reading, command: Command, kind: str) -> Download:
    """Return records as a file.

    A key or value that is not of the type given by the page becomes text.

    Raises:
        ConfigError: Parquet needs pyarrow, which is not installed.
    """
    records: list[Record] = [message.data for message in reading.records]
    make = {"jsonl": _jsonl, "csv": _csv, "parquet": _parquet}[kind]
    name = re.sub(r"[^A-Za-z0-9._-]", "_", command.arguments.topics[0])
    if reading.ended != "end":
        name += ".part"
    disposition = f'attachment; filename="{name}.{kind}"'
    return Download(
        make(records, command),
        media_type=_TYPES[kind],
        headers={"content-disposition": disposition, "cache-control": "no-store"},
    )


def _jsonl(records: list[Record], command: Command) -> Iterator[bytes]:
    for record in records:
        yield from _line(record, command)


def _line(record: Record, command: Command) -> Iterable[bytes]:
    try:
        return json_pieces(record, command.kinds)
    except SerializationError as error:
        return failed_line(record, error)


def _csv(records: list[Record], command: Command) -> Iterator[bytes]:
    yield _row(["partition", "offset", "timestamp", "key", "value", "headers"])
    for record in records:
        headers = [[name, _decoded(value)] for name, value in record.headers or []]
        position = [record.partition, record.offset, record.timestamp]
        cells = [_cell(record, part, command) for part in PARTS]
        if not any(isinstance(cell, bytes) for cell in cells):
            yield _row([*position, *cells, json_text(headers)])
            continue
        # In parts, which are not copied into a row.
        yield _row(position, end=",")
        for cell in cells:
            if isinstance(cell, bytes):
                yield from _large_cell(cell)
            else:
                yield _row([cell], end="")
            yield b","
        yield _row([json_text(headers)])


def _row(cells: Iterable[Any], end: str = "\r\n") -> bytes:
    return encoded(",".join(map(_quoted, cells)) + end)


def _quoted(cell: Any) -> str:
    """Return a cell as in RFC 4180. The module csv of Python 3.10 refuses NUL."""
    text = "" if cell is None else str(cell)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def _large_cell(data: bytes) -> Iterator[bytes]:
    yield b'"'
    is_first = True
    for text in texts(data, "backslashreplace"):
        yield (_harmless(text) if is_first else text).replace('"', '""').encode()
        is_first = False
    yield b'"'


def _cell(record: Record, part: str, command: Command) -> str | int | float | bytes | None:
    """Return a key or value, decoded as the page requests. With a schema, it is already text.

    A large text is returned as bytes.
    """
    data: bytes | None = getattr(record, part)
    value = (record.objects or {}).get(part)
    if (kind := command.kinds.get(part)) is not None:
        try:
            value = decode(record, part, kind)
        except SerializationError:
            value = None
        data = data if value is None else as_text(value)
    # A number, such as -5, is not a formula.
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if data is None or is_large(data):
        return data
    return _harmless(data.decode(errors="backslashreplace"))


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _decoded(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="backslashreplace")


def _parquet(records: list[Record], _: Command) -> Iterator[bytes]:
    return parquet_file(records)
