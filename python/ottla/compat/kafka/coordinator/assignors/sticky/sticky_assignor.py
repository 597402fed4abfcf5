"""The assignor ``sticky``."""

from ottla.compat.kafka.coordinator.assignors.abstract import AbstractPartitionAssignor

__all__ = ["StickyPartitionAssignor"]


class StickyPartitionAssignor(AbstractPartitionAssignor):
    """As few moves as possible."""

    name = "sticky"
