"""Reads the records of a request forwards, for a bounded time and in bounded memory.

``newest.py`` reads backwards. Invariants: ``next`` follows the last examined record, whether a
filter dropped it or not, so reading from there repeats and omits nothing. For a page, only the
shown part of a record is kept, and no batch is kept in memory while the next one is decoded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from ottla import Client, RecordBatch, errors
from ottla.cli.consume.newest import size_of
from ottla.cli.consume.ranges import Range, ranges_of
from ottla.cli.consume.selection import COLUMNS
from ottla.cli.formats import Record
from ottla.console.messages.command import Command

SECONDS = 10.0
"""The time limit of a request in seconds, for filters that few records pass."""

# The bytes of records that a request keeps. The last record may exceed them.
_MAX_BYTES = 32 * 1024 * 1024
_ROWS = 1_000
_LOOKUP_SECONDS = 5.0


class Message(NamedTuple):
    """A record that a request has read.

    Attributes:
        data: the record, or the part that a page shows.
        size: the size of the record in bytes.
    """

    timestamp: int | None
    partition: int
    offset: int
    data: Any
    size: int


@dataclass
class Reading:
    """The records of a request.

    Attributes:
        records: the records.
        read: the number of records that were examined.
        ended: the reason for the end: ``end`` of the partitions, ``count``, ``time`` or ``size``.
        next: the next offset, by partition.
    """

    records: list[Message] = field(default_factory=list)
    read: int = 0
    ended: str = "end"
    next: dict[int, int] = field(default_factory=dict)


class LimitedClient:
    """A client whose look-ups have a timeout, for functions shared with the command line."""

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


Convert = Callable[[Record], Message]
"""Turns a record into a message."""


def as_message(record: Record) -> Message:
    """Return a message with the record itself."""
    position = record.timestamp, record.partition, record.offset
    return Message(*position, record, size_of(record))


def read(client: Client, command: Command, count: int, convert: Convert = as_message) -> Reading:
    """Read records up to the requested number or the end, for at most ten seconds."""
    ranges = ranges_of(limited(client), command.arguments)
    if command.after:
        ranges = [
            (topic, partition, command.after[partition], end)
            for topic, partition, _, end in ranges
            if partition in command.after
        ]
    reading = Reading(next={partition: start for _, partition, start, _ in ranges})
    reader = Reader(command, reading, time.monotonic() + SECONDS, count, convert)
    scan_ranges(client, command, ranges, reader)
    return reading


def scan_ranges(client: Client, command: Command, ranges: list[Range], reader: Reader) -> None:
    """Pass the rows of ranges to a reader until it has enough, or a partition stalls."""
    # The scan rejects a range that begins after its end, which has no records yet.
    wanted = [each for each in ranges if each[3] is None or each[2] < each[3]]
    if not wanted:
        return
    reader.ends = {partition: end for _, partition, _, end in wanted}
    options: dict[str, Any] = {"max_rows": _ROWS, "timeout": reader.seconds_left()}
    options |= command.selection.format_arguments()
    try:
        with client.scan(wanted, columns=COLUMNS, fail_on_data_loss=False, **options) as scan:
            # Unlike a loop variable, this keeps no batch in memory while the next one is decoded.
            all(map(reader.take, scan))
    except errors.TimeoutError:
        reader.reading.ended = "time"


class Reader:
    """Takes rows until it has enough records.

    Args:
        command: the command.
        reading: the result to which records are added.
        until: when to stop, by the monotonic clock.
        count: the number of records; None for all.
        convert: turns a record into a message.
        held: the bytes of records that the request already keeps.
    """

    def __init__(
        self,
        command: Command,
        reading: Reading,
        until: float,
        count: int | None = None,
        convert: Convert = as_message,
        held: int = 0,
    ) -> None:
        self.reading = reading
        self._selection = command.selection
        self._count = count
        self._bytes = held
        self.ends: dict[int, int | None] = {}
        self._convert = convert
        self._until = until

    def seconds_left(self) -> float:
        """Return the seconds left, at least 0.1."""
        return max(0.1, self._until - time.monotonic())

    def take(self, batch: RecordBatch) -> bool:
        """Take the rows of a batch; return whether to continue."""
        reading = self.reading
        for row in batch.rows():
            if self._count is not None and len(reading.records) >= self._count:
                reading.ended = "count"
                return False
            if self._bytes > _MAX_BYTES:
                reading.ended = "size"
                return False
            kept = [self._convert(record) for record in self._selection.records([row])]
            reading.records += kept
            reading.read += 1
            reading.next[row[3]] = row[4] + 1
            self._bytes += sum(each.size for each in kept)
        if self._bytes > _MAX_BYTES and self._has_more():
            # Release the batch before the next one is decoded.
            reading.ended = "size"
            return False
        if time.monotonic() > self._until:
            reading.ended = "time"
        return reading.ended == "end"

    def _has_more(self) -> bool:
        next_offsets = self.reading.next
        return any(
            end is None or next_offsets.get(index, -1) < end for index, end in self.ends.items()
        )
