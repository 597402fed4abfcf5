"""The assignor ``range``."""

from ottla.compat.kafka.coordinator.assignors.abstract import AbstractPartitionAssignor

__all__ = ["RangePartitionAssignor"]


class RangePartitionAssignor(AbstractPartitionAssignor):
    """Ranges of each topic's partitions."""

    name = "range"
