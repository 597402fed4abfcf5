"""The result of ``delete_records`` (``confluent_kafka.admin._records``).

Invariant: the low watermark is the one that the leader reported.
"""

from __future__ import annotations


class DeletedRecords:
    """The first offset that a partition has after its records were deleted."""

    def __init__(self, low_watermark: int) -> None:
        self.low_watermark = low_watermark
