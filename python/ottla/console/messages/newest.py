"""Reads the newest records that pass the filters, backwards in windows.

Invariant: if ``ended`` is ``end``, the result is the same as if everything had been read. Otherwise
it contains the matches in the completely read windows, which are newer than all missing ones.
"""

from __future__ import annotations

import time
from collections import Counter

from ottla import Client
from ottla.cli.consume.newest import Age, age_of
from ottla.cli.consume.ranges import newest_ranges
from ottla.console.messages.command import Command
from ottla.console.messages.reading import (
    SECONDS,
    Convert,
    Message,
    Reader,
    Reading,
    as_message,
    limited,
    scan_ranges,
)

# The offsets of each partition in the first window, if there is a filter.
_FIRST_WINDOW = 1_000
# Each window has this many times as many offsets as the previous one.
_GROWTH = 4


def _age(record: Message) -> Age:
    # All are of one topic.
    return age_of(record.timestamp, "", record.partition, record.offset)


def read_newest(
    client: Client, command: Command, count: int, convert: Convert = as_message
) -> Reading:
    """Read the newest records of all partitions, the oldest of them first."""
    whole = newest_ranges(limited(client), command.arguments, None)
    reading = Reading(next={partition: end or 0 for _, partition, _, end in whole})
    if not count:
        return reading
    until = time.monotonic() + SECONDS
    window = max(count, _FIRST_WINDOW) if command.has_filter else count
    ends = dict(reading.next)
    found: Counter[int] = Counter()
    while True:
        # A partition with enough known matches has no newer ones in earlier windows.
        ranges = [
            (topic, partition, max(start, ends[partition] - window), ends[partition])
            for topic, partition, start, _ in whole
            if found[partition] < count and ends[partition] > start
        ]
        if not ranges:
            return reading
        part = Reading()
        held = sum(record.size for record in reading.records)
        scan_ranges(
            client, command, [*ranges], Reader(command, part, until, convert=convert, held=held)
        )
        reading.read += part.read
        if part.ended == "size" and window > 1:
            window = max(1, window // (2 * _GROWTH))
            continue
        if part.ended != "end":
            reading.ended = part.ended
            return reading
        found.update(record.partition for record in part.records)
        reading.records = sorted([*part.records, *reading.records], key=_age)[-count:]
        ends |= {partition: start for _, partition, start, _ in ranges}
        window *= _GROWTH
