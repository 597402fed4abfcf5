"""The records that each client writes and reads: keys and values without tabs and line ends.

A program writes what it reads from standard input, and prints what it reads from the topic: a line
for each record, with the key and the value separated by a tab.
"""

from __future__ import annotations

from collections.abc import Iterable

Records = list[tuple[bytes, bytes]]

_COUNT = 300
_LARGE = 100_000

RECORDS: Records = [
    (b"key-%d" % n, f"{n} ".encode() + "ü".encode() * (_LARGE if n % 100 == 0 else n % 50))
    for n in range(_COUNT)
]


def lines_of(records: Records) -> bytes:
    """Return the lines of records."""
    return b"".join(b"%s\t%s\n" % record for record in records)


def records_of(lines: bytes) -> Records:
    """Return the records of lines, sorted."""
    split = (line.partition(b"\t") for line in lines.splitlines())
    return in_order((key, value) for key, _, value in split)


def in_order(records: Iterable[tuple[bytes, bytes]]) -> Records:
    """Return records sorted by key and value, since partitions are read in any order."""
    return sorted(records)


EXPECTED = in_order(RECORDS)
