"""Consumed records."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["ConsumerRecord"]


class ConsumerRecord(NamedTuple):
    """A consumed record. The sizes are those of the bytes; -1 for None."""

    topic: str
    partition: int
    leader_epoch: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: Any
    value: Any
    headers: Any
    checksum: int | None
    serialized_key_size: int
    serialized_value_size: int
    serialized_header_size: int
