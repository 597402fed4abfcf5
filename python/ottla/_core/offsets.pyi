"""Offsets that were looked up or committed."""

from typing import Any, final

@final
class OffsetAndTimestamp:
    """The offset and timestamp of a record, as ListOffsets returns them.

    Args:
        offset: the offset; None if no record matches.
        timestamp: the record's timestamp in milliseconds since 1970. Default: None, unknown.
        leader_epoch: the leader epoch of the record. Default: None, unknown.
    """

    def __new__(
        cls, offset: int | None, timestamp: int | None = ..., leader_epoch: int | None = ...
    ) -> OffsetAndTimestamp: ...
    @property
    def offset(self) -> int | None:
        """The offset; None if no record matches."""
    @property
    def timestamp(self) -> int | None:
        """The record's timestamp in ms since 1970; None if it was not looked up by time."""
    @property
    def leader_epoch(self) -> int | None:
        """The leader epoch of the record; None if unknown."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class OffsetAndMetadata:
    """An offset with its metadata, as a group stores it.

    Args:
        offset: the offset of the next record to read.
        metadata: text that the group stores with the offset, or None for none. Default: empty.
            Brokers store none as empty text.
        leader_epoch: the leader epoch of the record before the offset (KIP-320). Default: -1,
            unknown.

    Raises:
        ConfigError: the offset is negative.
    """

    def __new__(
        cls, offset: int, metadata: str | None = "", leader_epoch: int = ...
    ) -> OffsetAndMetadata: ...
    @property
    def offset(self) -> int:
        """The offset of the next record to read."""
    @property
    def metadata(self) -> str | None:
        """The text that the group stores with the offset; None if the broker returned none."""
    @property
    def leader_epoch(self) -> int:
        """The leader epoch of the record before the offset; -1 if unknown."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Watermarks:
    """The bounds of a partition's log, as a leader has last reported them."""

    @property
    def log_start_offset(self) -> int:
        """The first offset of the log; -1 if the broker does not report it."""
    @property
    def last_stable_offset(self) -> int:
        """The end for ``read_committed``: no transaction before it is open."""
    @property
    def high_watermark(self) -> int:
        """The end for ``read_uncommitted``: everything before it is replicated."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
