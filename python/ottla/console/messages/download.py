"""Records as files: JSON lines as ``ottla consume --json`` prints them, CSV, or Parquet.

Invariants: a Parquet file has the records' own bytes; a key or value with a schema is its JSON; no
cell of a CSV file is a formula, which a spreadsheet would run. A file that does not have all
records of the request has ``.part`` in its name; a file is sent as fast as its reader takes it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ottla import extras
from ottla.cli.consume.decoding import as_text, decode, json_text
from ottla.cli.consume.output import as_json
from ottla.cli.formats import Record
from ottla.cli.schema_options import PARTS
from ottla.cli.streams import encoded
from ottla.console.messages.command import Command
from ottla.console.messages.reading import Reading
from ottla.errors import ConfigError, SerializationError

_TYPES = {
    "jsonl": "application/jsonl",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
# What begins a formula in spreadsheets: also the wide forms, and what they skip before one.
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
# Bytes of a file that are sent before its reader must have taken those before.
_PIECE = 64 * 1024


class Download(Response):
    """A file.

    Attributes:
        on_sent: called once the file was sent, or its reader is gone.
    """

    on_sent: Callable[[], None] = staticmethod(lambda: None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file in pieces."""
        del scope, receive
        try:
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
            for start in range(0, len(self.body), _PIECE):
                piece = bytes(self.body[start : start + _PIECE])
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self.on_sent()


def download(reading: Reading, command: Command, kind: str) -> Download:
    """Return records as a file.

    A key or value that is not what the page says it is becomes text.

    Raises:
        ConfigError: Parquet needs pyarrow, which is not installed.
    """
    make = {"jsonl": _jsonl, "csv": _csv, "parquet": _parquet}[kind]
    name = re.sub(r"[^A-Za-z0-9._-]", "_", command.arguments.topic)
    if reading.ended != "end":
        name += ".part"
    disposition = f'attachment; filename="{name}.{kind}"'
    return Download(
        make(reading.records, command),
        media_type=_TYPES[kind],
        headers={"content-disposition": disposition, "cache-control": "no-store"},
    )


def _jsonl(records: list[Record], command: Command) -> bytes:
    return b"".join(_line(record, command) for record in records)


def _line(record: Record, command: Command) -> bytes:
    try:
        return as_json(record, command.kinds)
    except SerializationError as error:
        return as_json(record._replace(error=str(error)), {})


def _csv(records: list[Record], command: Command) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["partition", "offset", "timestamp", "key", "value", "headers"])
    for record in records:
        headers = [[name, _decoded(value)] for name, value in record.headers or []]
        row = [record.partition, record.offset, record.timestamp]
        cells = [_cell(record, part, command) for part in PARTS]
        writer.writerow([*row, *cells, json_text(headers)])
    return encoded(out.getvalue())


def _cell(record: Record, part: str, command: Command) -> str | int | float | None:
    """Return a key or value, decoded as the page says; with a schema it is the text already."""
    data: bytes | None = getattr(record, part)
    value = (record.objects or {}).get(part)
    if (kind := command.kinds.get(part)) is not None:
        try:
            value = decode(record, part, kind)
        except SerializationError:
            value = None
        data = data if value is None else as_text(value)
    # What is a number, such as -5, is no formula.
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    text = _decoded(data)
    return text if text is None or not text.startswith(_FORMULA) else f"'{text}"


def _decoded(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="backslashreplace")


def _parquet(records: list[Record], _: Command) -> bytes:
    try:
        extras.require("Parquet", "arrow")
    except extras.MissingExtraError as error:
        raise ConfigError(str(error)) from None
    import pyarrow as pa
    import pyarrow.parquet as pq

    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    schema = pa.schema(
        [
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("offset", pa.int64()),
            ("timestamp", pa.timestamp("ms", tz="UTC")),
            ("key", pa.binary()),
            ("value", pa.binary()),
            ("headers", pa.list_(header)),
        ]
    )
    columns = [
        [getattr(record, field.name) for record in records]
        for field in schema
        if field.name != "headers"
    ]
    headers = [
        [{"key": name, "value": value} for name, value in record.headers or []]
        for record in records
    ]
    arrays = [
        pa.array(values, field.type)
        for values, field in zip([*columns, headers], schema, strict=True)
    ]
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), out)
    return out.getvalue()
