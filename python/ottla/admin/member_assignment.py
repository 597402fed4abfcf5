"""The subscription and the assignment of a member of a classic group, as the clients encode them.

Invariant: bytes that are neither, as of groups of other clients, are no error.
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


def decode_subscription(data: bytes) -> list[str]:
    """Return the topics of a subscription; none if it is not one."""
    try:
        return _topics(data) if data else []
    except (struct.error, UnicodeDecodeError):
        return []


def _topics(data: bytes) -> list[str]:
    _version, count = struct.unpack_from(">hi", data)
    at, topics = 6, []
    for _ in range(count):
        (length,) = struct.unpack_from(">h", data, at)
        (name,) = struct.unpack_from(f">{length}s", data, at + 2)
        at += 2 + length
        topics.append(name.decode())
    return sorted(topics)
