"""Names of offsets and isolation levels."""

from __future__ import annotations

from enum import IntEnum

from ottla.compat.kafka._named import Named

__all__ = ["IsolationLevel", "OffsetResetStrategy", "OffsetSpec", "OffsetTimestamp"]


class IsolationLevel(Named, IntEnum):
    """Whether records of open and aborted transactions are read."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class OffsetSpec(Named, IntEnum):
    """Offsets that brokers look up by name."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5


class OffsetResetStrategy:
    """Where to start without a committed offset."""

    LATEST = -1
    EARLIEST = -2
    NONE = 0


class OffsetTimestamp(int):
    """A timestamp in milliseconds, where an offset could stand as well."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"OffsetTimestamp({int(self)})"
