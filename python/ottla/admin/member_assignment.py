"""The assignment of a member of a classic group, as its leader encodes it.

Invariant: bytes that are no assignment, as of groups of other clients, are None and no error.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ottla.admin.destinations import TopicPartition


def decode_assignment(data: bytes) -> list[TopicPartition] | None:
    """Return the partitions of an assignment, or None if it is not one."""
    if not data:
        return []
    try:
        return sorted(_partitions(memoryview(data)))
    except (struct.error, UnicodeDecodeError):
        return None


def _partitions(data: memoryview) -> Iterator[TopicPartition]:
    _version, topics = struct.unpack_from(">hi", data)
    at = 6
    for _ in range(topics):
        (length,) = struct.unpack_from(">h", data, at)
        (name,) = struct.unpack_from(f">{length}s", data, at + 2)
        at += 2 + length
        (count,) = struct.unpack_from(">i", data, at)
        for partition in struct.unpack_from(f">{count}i", data, at + 4):
            yield name.decode(), partition
        at += 4 + 4 * count
