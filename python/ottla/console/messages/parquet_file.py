"""A Parquet file of records, created while it is sent.

Invariants: the file contains the original bytes of the records. Memory holds only one row group and
its encoded form, whatever the size of the file: the bytes of a group are taken before the next
group is created.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ottla._internal import extras
from ottla.cli.consume.newest import size_of
from ottla.cli.formats import Record
from ottla.errors import ConfigError

if TYPE_CHECKING:
    import pyarrow as pa

# A row group ends after this many bytes of records, or this many records.
_GROUP_BYTES = 4 << 20
_GROUP_ROWS = 10_000


class _Sink:
    """A file object whose bytes are taken out while it is written."""

    closed = False

    def __init__(self) -> None:
        self._position = 0
        self._waiting: list[bytes] = []

    def write(self, data: Any) -> int:
        """Append bytes."""
        piece = bytes(data)
        self._waiting.append(piece)
        self._position += len(piece)
        return len(piece)

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._position

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def close(self) -> None:
        """Do nothing: the last bytes are taken afterwards."""

    def readable(self) -> bool:
        """Return False: nothing can be read back."""
        return False

    def writable(self) -> bool:
        """Return True: the file can be written."""
        return True

    def seekable(self) -> bool:
        """Return False: the file is written from beginning to end."""
        return False

    def take(self) -> list[bytes]:
        """Return the bytes that were written since the last call."""
        taken, self._waiting = self._waiting, []
        return taken


def parquet_file(records: Iterable[Record]) -> Iterator[bytes]:
    """Return the bytes of a file.

    Raises:
        ConfigError: pyarrow is not installed.
    """
    try:
        extras.require("Parquet", "arrow")
    except extras.MissingExtraError as error:
        raise ConfigError(str(error)) from None
    return _pieces(records)


def _pieces(records: Iterable[Record]) -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, sink = _schema(), _Sink()
    with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema) as writer:
        for group in _groups(records):
            writer.write_table(_table(group, schema))
            del group
            yield from sink.take()
    yield from sink.take()


def _schema() -> pa.Schema:
    import pyarrow as pa

    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    return pa.schema(
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


def _groups(records: Iterable[Record]) -> Iterator[list[Record]]:
    group: list[Record] = []
    held = 0
    for record in records:
        group.append(record)
        held += size_of(record)
        if held >= _GROUP_BYTES or len(group) >= _GROUP_ROWS:
            yield group
            group, held = [], 0
    if group:
        yield group


def _table(records: list[Record], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

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
    return pa.Table.from_arrays(arrays, schema=schema)
