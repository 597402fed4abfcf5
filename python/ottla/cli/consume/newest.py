"""The newest records of all partitions, for ``ottla consume --last``.

Invariant: memory holds at most 32 MiB of records and one batch. For other records only the offset
is kept; they are read again when they are printed, at most 16 MiB or one record at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ottla.cli.consume.ranges import Range
from ottla.cli.formats import Record

# The bytes of records that are kept, and that are read again at a time.
_MAX_KEPT = 32 << 20
_MAX_READ = 16 << 20
# The bytes that a record takes in addition to its key, value and headers.
_RECORD_BYTES = 500
# The number of further entries that are collected before they are sorted and cut.
_PLACES = 1_000

Age = tuple[float, str, int, int]
"""The time, the topic, the partition and the offset of a record."""


@dataclass(frozen=True)
class _Candidate:
    """A record that may be among the newest: its age, its size, and itself if it is kept."""

    age: Age
    size: int
    record: Record | None


def choose_newest(
    batches: Iterator[list[Record]],
    count: int,
    read: Callable[[list[Range]], Iterator[list[Record]]],
) -> Iterator[list[Record]]:
    """Yield the newest records, the oldest of them first.

    Args:
        batches: the records to choose from.
        count: the number of records to yield.
        read: reads ranges of the topics again.
    """
    found: list[_Candidate] = []
    kept = 0
    for records in batches:
        for record in records:
            size = size_of(record)
            is_kept = kept + size <= _MAX_KEPT
            kept += size if is_kept else 0
            age = age_of(record.timestamp, record.topic, record.partition, record.offset)
            found.append(_Candidate(age, size, record if is_kept else None))
            del record
        # No batch is kept in memory while the next one is decoded.
        records.clear()
        if len(found) > 2 * count + _PLACES:
            found = _newest_of(found, count)
            kept = sum(each.size for each in found if each.record is not None)
    for group in _groups(_newest_of(found, count)):
        yield _read_missing(group, read)


def age_of(timestamp: int | None, topic: str, partition: int, offset: int) -> Age:
    """Return the sort key of a record, which puts the oldest first.

    A timestamp that a timestamp column cannot hold is later than all others.
    """
    return math.inf if timestamp is None else timestamp, topic, partition, offset


def size_of(record: Record) -> int:
    """Return about how many bytes a record takes."""
    headers = sum(len(name) + len(value or b"") for name, value in record.headers or ())
    return len(record.key or b"") + len(record.value or b"") + headers + _RECORD_BYTES


def _newest_of(found: list[_Candidate], count: int) -> list[_Candidate]:
    return sorted(found, key=lambda each: each.age)[-count:]


def _groups(found: Iterable[_Candidate]) -> Iterator[list[_Candidate]]:
    """Yield records in groups. The records to read again in a group are bounded."""
    group: list[_Candidate] = []
    missing = 0
    for each in found:
        if each.record is None:
            if missing and missing + each.size > _MAX_READ:
                yield group
                group, missing = [], 0
            missing += each.size
        group.append(each)
    yield group


def _read_missing(
    group: list[_Candidate], read: Callable[[list[Range]], Iterator[list[Record]]]
) -> list[Record]:
    """Return the records of a group, without those that were deleted meanwhile."""
    missing: dict[tuple[str, int], list[int]] = {}
    for each in group:
        if each.record is None:
            _, topic, partition, offset = each.age
            missing.setdefault((topic, partition), []).append(offset)
    again: dict[tuple[str, int, int], Record] = {}
    ranges: list[Range] = [
        (*topic_partition, min(offsets), max(offsets) + 1)
        for topic_partition, offsets in missing.items()
    ]
    wanted = {(*where, offset) for where, offsets in missing.items() for offset in offsets}
    for records in read(ranges) if ranges else ():
        for record in records:
            if (position := (record.topic, record.partition, record.offset)) in wanted:
                again[position] = record
            del record
        records.clear()
    chosen = (each.record or again.get(each.age[1:]) for each in group)
    return [record for record in chosen if record is not None]
