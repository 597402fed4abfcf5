"""``NewPartitions``."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["NewPartitions"]


class NewPartitions:
    """The new number of a topic's partitions.

    Args:
        total_count: how many partitions the topic has afterwards.
        new_assignments: the brokers of each new partition. Default: the cluster chooses.
    """

    def __init__(
        self, total_count: int, new_assignments: Sequence[Sequence[int]] | None = None
    ) -> None:
        self.total_count = total_count
        self.new_assignments = new_assignments
