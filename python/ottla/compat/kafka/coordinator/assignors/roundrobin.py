"""The assignor ``roundrobin``."""

from ottla.compat.kafka.coordinator.assignors.abstract import AbstractPartitionAssignor

__all__ = ["RoundRobinPartitionAssignor"]


class RoundRobinPartitionAssignor(AbstractPartitionAssignor):
    """All partitions in turn."""

    name = "roundrobin"
