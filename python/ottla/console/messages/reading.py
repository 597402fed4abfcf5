"""Reads the records of a request, for a bounded time.

Invariant: ``next`` follows the last record that was looked at, whether a filter dropped it or not,
so that going on from there repeats none and leaves none out.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ottla import Client
from ottla.cli.consume.ranges import Range, newest_ranges, ranges_of
from ottla.cli.consume.selection import COLUMNS, newest_records
from ottla.cli.formats import Record
from ottla.console.messages.command import Command

# A request with a filter that nothing passes ends after this many seconds.
_SECONDS = 10.0
# Bytes of keys, values and headers that a response holds at most, in addition to one batch.
_MAX_BYTES = 64 * 1024 * 1024
_ROWS = 1_000


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


def read(client: Client, command: Command, count: int) -> Reading:
    """Read records until there are as many as wanted, or until the end, or for ten seconds."""
    if command.last:
        count = min(count, command.arguments.last)
    ranges = _ranges(client, command, count)
    reading = Reading(next={partition: start for _, partition, start, _ in ranges})
    reader = _Reader(command, reading, None if command.last else count)
    with client.scan(
        ranges,
        columns=COLUMNS,
        max_rows=_ROWS,
        fail_on_data_loss=False,
        timeout=_SECONDS,
        **command.selection.formats,
    ) as scan:
        for batch in scan:
            if not reader.take(batch.rows()):
                break
    if command.last:
        reading.records = newest_records(iter([reading.records]), count)
    return reading


def _ranges(client: Client, command: Command, count: int) -> list[Range]:
    arguments = command.arguments
    if command.last and not command.after:
        return newest_ranges(client, arguments, None if command.has_filter else count)
    if command.after:
        ranges: list[Range] = [
            (topic, partition, command.after[partition], end)
            for topic, partition, _, end in newest_ranges(client, arguments, 0)
            if partition in command.after
        ]
    else:
        ranges = ranges_of(client, arguments)
    # A range that begins after its end is an error of the scan: nothing is there yet.
    return [each for each in ranges if each[3] is None or each[2] <= each[3]]


class _Reader:
    """Takes rows until there is enough."""

    def __init__(self, command: Command, reading: Reading, count: int | None) -> None:
        self._selection = command.selection
        self._reading = reading
        self._count = count
        self._bytes = 0
        self._until = time.monotonic() + _SECONDS

    def take(self, rows: list[tuple[object, ...]]) -> bool:
        """Take rows; return whether to go on."""
        reading = self._reading
        for row in rows:
            if self._count is not None and len(reading.records) >= self._count:
                reading.ended = "count"
                return False
            kept = self._selection.records([row])
            reading.records += kept
            reading.read += 1
            partition, offset = row[3], row[4]
            assert isinstance(partition, int), "it is a column of integers"
            assert isinstance(offset, int), "it is a column of integers"
            reading.next[partition] = offset + 1
            self._bytes += sum(len(each.value or b"") + len(each.key or b"") for each in kept)
        if self._bytes > _MAX_BYTES:
            reading.ended = "size"
        elif time.monotonic() > self._until:
            reading.ended = "time"
        return reading.ended == "end"
