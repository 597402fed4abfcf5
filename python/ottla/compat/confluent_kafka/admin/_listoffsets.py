"""Which offset of a partition ``list_offsets`` looks up, and what it finds
(``confluent_kafka.admin._listoffsets``).

Invariant: a specification is one number: a time in ms since 1970, or a negative one for a name.
"""

from __future__ import annotations

from ottla.compat.confluent_kafka import _constants as numbers


class OffsetSpec:
    """Which offset; ``OffsetSpec(number)`` returns the specification for a number.

    Args:
        index: a time in ms since 1970, or librdkafka's number of a name.
    """

    _value: int

    def __new__(cls, index: int) -> OffsetSpec:
        if index >= 0:
            return TimestampSpec(index)
        return _NAMED[index]

    @classmethod
    def earliest(cls) -> OffsetSpec:
        """Return the specification of the first offset."""
        return _NAMED[numbers.OFFSET_SPEC_EARLIEST]

    @classmethod
    def latest(cls) -> OffsetSpec:
        """Return the specification of the offset after the last record."""
        return _NAMED[numbers.OFFSET_SPEC_LATEST]

    @classmethod
    def max_timestamp(cls) -> OffsetSpec:
        """Return the specification of the record with the latest time."""
        return _NAMED[numbers.OFFSET_SPEC_MAX_TIMESTAMP]

    @classmethod
    def for_timestamp(cls, timestamp: int) -> OffsetSpec:
        """Return the specification of the first record with a time or a later one, in ms."""
        return TimestampSpec(timestamp)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, OffsetSpec):
            return NotImplemented
        return self._value < other._value


class TimestampSpec(OffsetSpec):
    """The first record with a time, in ms since 1970, or a later one."""

    def __new__(cls, timestamp: int) -> TimestampSpec:
        return object.__new__(cls)

    def __init__(self, timestamp: int) -> None:
        self.timestamp = timestamp

    @property
    def _value(self) -> int:  # type: ignore[override]
        return self.timestamp


class _NamedSpec(OffsetSpec):
    """An offset with a name."""

    def __new__(cls) -> _NamedSpec:
        return object.__new__(cls)


class MaxTimestampSpec(_NamedSpec):
    """The record with the latest time."""

    _value = numbers.OFFSET_SPEC_MAX_TIMESTAMP


class LatestSpec(_NamedSpec):
    """The offset after the last record."""

    _value = numbers.OFFSET_SPEC_LATEST


class EarliestSpec(_NamedSpec):
    """The first offset."""

    _value = numbers.OFFSET_SPEC_EARLIEST


_NAMED: dict[int, OffsetSpec] = {
    spec._value: spec for spec in (MaxTimestampSpec(), EarliestSpec(), LatestSpec())
}


class ListOffsetsResultInfo:
    """An offset; its time is -1 for the first and the last, and the leader epoch may be None."""

    def __init__(self, offset: int, timestamp: int, leader_epoch: int) -> None:
        self.offset = offset
        self.timestamp = timestamp
        self.leader_epoch: int | None = leader_epoch if leader_epoch >= 0 else None
