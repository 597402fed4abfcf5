"""The default partitioner, as a callable for programs that call or wrap it.

Invariant: a producer with this partitioner chooses partitions in the core, with the same result.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from ottla import partition_for_key

__all__ = ["DefaultPartitioner", "murmur2"]

_MULTIPLIER = 0x5BD1E995
_SEED = 0x9747B28C
_MASK = 0xFFFFFFFF


class DefaultPartitioner:
    """Chooses a partition by the murmur2 hash of the key; without a key, at random."""

    @classmethod
    def __call__(
        cls, key: bytes | None, all_partitions: Sequence[int], available: Sequence[int]
    ) -> int:
        """Choose a partition.

        Args:
            key: the serialized key, or None.
            all_partitions: the topic's partitions, in order.
            available: those that have a leader.
        """
        if key is None:
            return random.choice(available or all_partitions)  # noqa: S311 - no secret
        return all_partitions[partition_for_key(key, len(all_partitions))]


def murmur2(data: bytes) -> int:
    """Return the murmur2 hash of bytes as Java's clients compute it, as an unsigned integer."""
    hashed = (_SEED ^ len(data)) & _MASK
    aligned = len(data) & ~3
    for place in range(0, aligned, 4):
        word = int.from_bytes(data[place : place + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        hashed = (hashed * _MULTIPLIER & _MASK) ^ word
    if rest := data[aligned:]:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * _MULTIPLIER & _MASK
    hashed = (hashed ^ hashed >> 13) * _MULTIPLIER & _MASK
    return hashed ^ hashed >> 15
