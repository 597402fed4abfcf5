"""The selection of the records that ``ottla consume`` prints: rows are read, decoded and filtered.

Invariant: filters apply to the printed text of a key or value with a schema, not to its bytes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from ottla.cli.consume.filters import filter_of
from ottla.cli.consume.schemas import reading_formats, record_of
from ottla.cli.consume.written import decode_written
from ottla.cli.formats import Record
from ottla.cli.schema_options import PARTS, is_written

COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "headers"]
"""The columns to read, in the order of a ``Record``."""


class Selection:
    """Selects records by the arguments of the command.

    Args:
        arguments: the command's arguments.

    Attributes:
        formats: the formats of keys and values that are converted to one schema, by ``key`` and
            ``value``.
        written: the formats of those that keep their schemas.

    Raises:
        ConfigError: an argument is wrong.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        formats = reading_formats(arguments)
        self.written = {part: formats.pop(part) for part in PARTS if is_written(arguments, part)}
        self.formats: dict[str, Any] = formats
        self._is_kept = filter_of(arguments)

    def format_arguments(self) -> dict[str, Any]:
        """Return the formats as keyword arguments of ``scan`` and ``poll_arrow``."""
        return {f"{part}_format": self.formats[part] for part in self.formats}

    def records(self, rows: Iterable[Sequence[Any]]) -> list[Record]:
        """Return the records of the rows that pass all filters."""
        records = (record_of(row, self.formats) for row in rows)
        if self.written:
            records = (decode_written(record, self.written) for record in records)
        return [record for record in records if self._is_kept(record)]
