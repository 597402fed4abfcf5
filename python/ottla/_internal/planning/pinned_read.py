"""A bounded read that can be repeated, in parts: what the sources of query engines scan.

Invariants: starts and ends are looked up once, so each query reads the same ranges. A column with
a format is decoded even if a query does not select it: a query then fails as reading everything
would, and leaves out the same dead letters.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ottla._core import Client, Scan
from ottla._internal.arguments import names
from ottla._internal.planning.offset_range import OffsetRange, TopicPartition
from ottla._internal.required_arguments import flag
from ottla._internal.scanning import Bound, find_ranges, offsets_found, scan_client
from ottla.errors import ConfigError
from ottla.schema import ColumnFormat

FormatOfFields: TypeAlias = Callable[[Sequence[str] | None], ColumnFormat]
"""A function that returns a format of some fields; None is all fields."""

ERROR_COLUMN = "_error"
"""The column of permissive formats, which is read with the columns that they decode."""

# A window without enough records, as after compaction, is followed by one this much larger.
_WINDOW_GROWTH = 4


@dataclass(frozen=True)
class ScanOptions:
    """The arguments of ``scan`` that do not choose the records."""

    columns: Sequence[str] | None = None
    include_headers: bool = False
    max_rows: int = 50_000
    target_bytes: int = 4 << 20
    fail_on_data_loss: bool = True
    timeout: float | None = None


class PinnedRead:
    """Ranges of offsets, and how they are read.

    Args:
        client: the client to read with.
        ranges: the ranges.
        options: the arguments of ``scan``.
        key_format: how keys are decoded. Default: they stay bytes.
        value_format: the same for values, or a function of fields that returns it, which must be
            failfast: a scan then decodes the fields that it is asked for.

    Attributes:
        client: the client to read with.
        ranges: the ranges, without empty ones.
        has_fields: whether ``value_format`` is a function of fields.
        column_names: the names of all columns, in order.
    """

    def __init__(
        self,
        client: Client,
        ranges: Iterable[OffsetRange],
        options: ScanOptions,
        key_format: ColumnFormat | None = None,
        value_format: ColumnFormat | FormatOfFields | None = None,
    ) -> None:
        ranges = list(ranges)
        self.client = client
        self.ranges = [one for one in ranges if one.size > 0]
        self._options = options
        self._key_format = key_format
        self._format_of = None
        if value_format is not None and not isinstance(value_format, ColumnFormat):
            self._format_of, value_format = value_format, _whole(value_format)
        self.has_fields = self._format_of is not None
        self._value_format = value_format
        # A format may take its schema from the topics of ranges, even if these are empty.
        self._empty = [(one.topic, one.partition, one.end, one.end) for one in ranges]
        columns = options.columns
        self._columns = None if columns is None else names("columns", columns)
        flag("include_headers", options.include_headers)
        with self.empty() as scan:
            self.column_names = scan.column_names
        self._base = [name for name in self.column_names if name != ERROR_COLUMN]

    def empty(self) -> Scan:
        """Return a scan without rows, for the schema of all columns."""
        return self._scan(self._empty, self._columns, self._value_format)

    def scan(
        self,
        ranges: Iterable[OffsetRange],
        wanted: Iterable[str] | None = None,
        fields: Sequence[str] | None = None,
    ) -> Scan:
        """Read ranges.

        Args:
            ranges: the ranges.
            wanted: columns that the scan must have; it may have more. Default: all.
            fields: with a function of fields, the fields to decode; without any, values are not
                decoded. Default: all.
        """
        bounds = [one.bounds for one in ranges]
        value_format = self._value_format
        needed = set(self._base if wanted is None else wanted)
        if self._key_format is not None:
            needed.add("key")
        if self._format_of is None or fields is None:
            if value_format is not None:
                needed.add("value")
        elif fields:
            needed.add("value")
            value_format = self._format_of([_quoted(field) for field in fields])
        else:
            needed.discard("value")
            value_format = None
        columns = [name for name in self._base if name in needed]
        # A scan of no column has no rows either.
        return self._scan(bounds, columns or ["offset"], value_format)

    def scan_first(
        self,
        rows: int,
        wanted: Iterable[str] | None = None,
        fields: Sequence[str] | None = None,
    ) -> Generator[Scan, int, None]:
        """Read as many offsets as hold ``rows`` rows, in the order of the ranges.

        The caller sends the number of rows of each scan. The scans together may have more rows.
        """
        left, window = rows, rows
        waiting = self.ranges[::-1]
        while left > 0 and waiting:
            parts, room = [], window
            while room > 0 and waiting:
                one = waiting.pop()
                cut = min(one.end, one.start + room)
                parts.append(OffsetRange(*one.topic_partition, one.start, cut))
                room -= cut - one.start
                if cut < one.end:
                    waiting.append(OffsetRange(*one.topic_partition, cut, one.end))
            left -= yield self.scan(parts, wanted, fields)
            window *= _WINDOW_GROWTH

    def look_up(self, timestamps: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return the first offset at or after each time in ms; -1 if no record is that late."""
        listed = self.client.list_offsets(dict(timestamps), timeout=self._options.timeout)
        return offsets_found(listed)

    def _scan(
        self,
        bounds: list[tuple[str, int, int, int]],
        columns: Sequence[str] | None,
        value_format: ColumnFormat | None,
    ) -> Scan:
        options = self._options
        return self.client.scan(
            bounds,
            columns=columns,
            include_headers=options.include_headers and columns is None,
            max_rows=options.max_rows,
            target_bytes=options.target_bytes,
            fail_on_data_loss=options.fail_on_data_loss,
            timeout=options.timeout,
            key_format=self._key_format,
            value_format=value_format,
        )


def pin(
    topics: str | Sequence[str],
    bootstrap: str | Sequence[str] | Mapping[str, Any] | Client | None,
    config: Mapping[str, Any] | None,
    settings: Mapping[str, Any],
    options: ScanOptions,
    *,
    start: Bound,
    end: Bound,
    partitions: Iterable[int] | None,
    key_format: ColumnFormat | None,
    value_format: ColumnFormat | FormatOfFields | None,
) -> PinnedRead:
    """Look up the ranges that ``scan`` reads with these arguments, and return a read of them.

    ``settings`` is the configuration that was passed as keyword arguments.
    """
    with scan_client(bootstrap, config, options.timeout, settings) as client:
        ranges = find_ranges(client, topics, start, end, partitions, options.timeout)
        return PinnedRead(client, ranges, options, key_format, value_format)


def _whole(format_of: FormatOfFields) -> ColumnFormat:
    given: object = format_of
    expected = "expected a format such as ottla.schema.Avro(registry)"
    # A class can be called, too.
    if isinstance(given, type) or not callable(given):
        kind = f"the class {given.__name__}" if isinstance(given, type) else _type_of(given)
        raise ConfigError(f"value_format is {kind}: {expected}")
    whole: object = format_of(None)
    if not isinstance(whole, ColumnFormat):
        raise ConfigError(f"value_format returned for all fields is {_type_of(whole)}: {expected}")
    _check_failfast(whole)
    return whole


def _type_of(value: object) -> str:
    return f"of type {type(value).__name__}"


def _check_failfast(whole: ColumnFormat) -> None:
    """Raise if the rows would depend on the fields that a query decodes.

    A value with a malformed field is null in permissive mode; ``DeadLetters`` leaves it out.
    """
    if whole.mode != "failfast":
        raise ConfigError(
            "a value_format that is a function of fields must be failfast, since other modes would "
            "leave out or blank records by the fields that a query uses: pass the permissive "
            "format, or the one with DeadLetters, itself"
        )


def _quoted(field: str) -> str:
    return f"`{field}`" if "." in field else field
