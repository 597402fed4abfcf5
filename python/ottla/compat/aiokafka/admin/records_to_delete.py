"""``RecordsToDelete``."""

from __future__ import annotations

__all__ = ["RecordsToDelete"]


class RecordsToDelete:
    """The records of a partition to delete.

    Args:
        before_offset: the offset of the first record to keep.
    """

    def __init__(self, before_offset: int) -> None:
        self.before_offset = before_offset
