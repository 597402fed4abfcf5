"""The hashes of librdkafka's partitioners as functions (``murmur2``, ``consistent``, ``fnv1a``).

Invariant: each returns the partition that the partitioner of that name chooses for the key.
"""

from __future__ import annotations

import operator
import zlib

import ottla


def _checked(key: bytes, partition_count: int) -> tuple[bytes, int]:
    if not isinstance(key, bytes):
        raise TypeError(f"key must be bytes, not {type(key).__name__}")
    count = operator.index(partition_count)
    if count <= 0:
        raise ValueError("partition_count must be > 0")
    return key, count


def murmur2(key: bytes, partition_count: int) -> int:
    """Return the partition of a key by murmur2, as in Java."""
    key, count = _checked(key, partition_count)
    return ottla.partition_for_key(key, count)


def consistent(key: bytes, partition_count: int) -> int:
    """Return the partition of a key by CRC32, as librdkafka's default does."""
    key, count = _checked(key, partition_count)
    return zlib.crc32(key) % count


def fnv1a(key: bytes, partition_count: int) -> int:
    """Return the partition of a key by FNV-1a, as Sarama does."""
    key, count = _checked(key, partition_count)
    value = 2166136261
    for octet in key:
        value = (value ^ octet) * 16777619 & 0xFFFFFFFF
    signed = value - (1 << 32) if value >= 1 << 31 else value
    return abs(signed) % count
