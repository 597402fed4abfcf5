"""Reads the records of a request forwards, for a bounded time and in bounded memory.

``newest.py`` reads backwards. Invariant: ``next`` follows the last record that was looked at,
whether a filter dropped it or not, so that going on from there repeats none and leaves none out.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ottla import Client, errors
from ottla.cli.consume.ranges import Range, ranges_of
from ottla.cli.consume.selection import COLUMNS
from ottla.cli.formats import Record
from ottla.console.messages.command import Command

SECONDS = 10.0
"""The time for a request: a filter that nothing passes ends it."""

# Bytes of the records that a request keeps, in addition to one batch.
_MAX_BYTES = 64 * 1024 * 1024
# What a record takes besides its bytes.
_RECORD_BYTES = 500
_ROWS = 1_000
_LOOKUP_SECONDS = 5.0


@dataclass
class Reading:
    """The records of a request.

    Attributes:
        records: the records.
        read: how many were looked at.
        ended: why it ended: ``end`` of the partitions, ``count``, ``time`` or ``size``.
        next: the next offset, by partition.
    """

    records: list[Record] = field(default_factory=list)
    read: int = 0
    ended: str = "end"
    next: dict[int, int] = field(default_factory=dict)


class LimitedClient:
    """A client whose look-ups have a timeout, for functions of the command line."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def cluster(self, topics: list[str]) -> Any:
        """Look up topics."""
        return self._client.cluster(topics, timeout=_LOOKUP_SECONDS)

    def list_offsets(self, spec: Mapping[tuple[str, int], Any]) -> Any:
        """Look up offsets."""
        return self._client.list_offsets(spec, timeout=_LOOKUP_SECONDS)

    def scan(self, ranges: list[Range], **options: Any) -> Any:
        """Look up the last records."""
        return self._client.scan(ranges, timeout=_LOOKUP_SECONDS, **options)


def limited(client: Client) -> Client:
    """Return a client for the functions that look up ranges."""
    return cast(Client, LimitedClient(client))


def read(client: Client, command: Command, count: int) -> Reading:
    """Read records until there are as many as wanted, or until the end, or for ten seconds."""
    ranges = ranges_of(limited(client), command.arguments)
    if command.after:
        ranges = [
            (topic, partition, command.after[partition], end)
            for topic, partition, _, end in ranges
            if partition in command.after
        ]
    reading = Reading(next={partition: start for _, partition, start, _ in ranges})
    reader = Reader(command, reading, time.monotonic() + SECONDS, count)
    scan_ranges(client, command, ranges, reader)
    return reading


def scan_ranges(client: Client, command: Command, ranges: list[Range], reader: Reader) -> None:
    """Pass the rows of ranges to a reader, until it has enough; a stalled partition ends it."""
    # A range that begins after its end is an error of the scan: nothing is there yet.
    wanted = [each for each in ranges if each[3] is None or each[2] < each[3]]
    if not wanted:
        return
    options: dict[str, Any] = {"max_rows": _ROWS, "timeout": reader.seconds_left()}
    options |= command.selection.formats
    try:
        with client.scan(wanted, columns=COLUMNS, fail_on_data_loss=False, **options) as scan:
            for batch in scan:
                if not reader.take(batch.rows()):
                    return
    except errors.TimeoutError:
        reader.reading.ended = "time"


class Reader:
    """Takes rows until there is enough.

    Args:
        command: what is read.
        reading: where the records go.
        until: when to stop, by the monotonic clock.
        count: the number of records; None for all.
    """

    def __init__(
        self, command: Command, reading: Reading, until: float, count: int | None = None
    ) -> None:
        self.reading = reading
        self._selection = command.selection
        self._count = count
        self._bytes = 0
        self._until = until

    def seconds_left(self) -> float:
        """Return the seconds until the time is over, but some."""
        return max(0.1, self._until - time.monotonic())

    def take(self, rows: list[tuple[Any, ...]]) -> bool:
        """Take rows; return whether to go on."""
        reading = self.reading
        for row in rows:
            if self._count is not None and len(reading.records) >= self._count:
                reading.ended = "count"
                return False
            if self._bytes > _MAX_BYTES:
                reading.ended = "size"
                return False
            kept = self._selection.records([row])
            reading.records += kept
            reading.read += 1
            reading.next[row[3]] = row[4] + 1
            self._bytes += sum(map(_size, kept))
        if time.monotonic() > self._until:
            reading.ended = "time"
        return reading.ended == "end"


def _size(record: Record) -> int:
    headers = sum(len(name) + len(value or b"") for name, value in record.headers or ())
    return len(record.key or b"") + len(record.value or b"") + headers + _RECORD_BYTES
