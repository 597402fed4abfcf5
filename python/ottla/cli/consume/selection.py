"""Which records ``ottla consume`` prints: how rows are read, decoded and filtered.

Invariant: filters see what is printed: the text of a key or value with a schema, not its bytes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ottla.cli.consume.filters import filter_of
from ottla.cli.consume.schemas import reading_formats, record_of
from ottla.cli.formats import Record

COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "headers"]
"""The columns to read, in the order of a ``Record``."""
# Records that are kept before they are sorted, in addition to those that are wanted.
_ROWS = 1_000


class Selection:
    """Chooses records by the arguments of the command.

    Args:
        arguments: the command's arguments.

    Attributes:
        formats: the formats of keys and values with a schema, for the call that reads them.

    Raises:
        ConfigError: an argument is wrong.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.formats: dict[str, Any] = dict(reading_formats(arguments))
        self._is_kept = filter_of(arguments)

    def records(self, rows: Iterable[Sequence[Any]]) -> list[Record]:
        """Return the records of rows that no filter drops."""
        records = (record_of(row, self.formats) for row in rows)
        return [record for record in records if self._is_kept(record)]


def newest_records(batches: Iterator[list[Record]], count: int) -> list[Record]:
    """Return the newest records, the oldest of them first; keeps few more in memory."""
    newest: list[Record] = []

    def age(record: Record) -> tuple[float, int, int]:
        # One that a column of timestamps does not hold is later than all others.
        time = math.inf if record.timestamp is None else record.timestamp
        return time, record.partition, record.offset

    for records in batches:
        newest += records
        if len(newest) > 2 * count + _ROWS:
            newest = sorted(newest, key=age)[-count:]
    return sorted(newest, key=age)[-count:]
