"""The assignor ``cooperative-sticky``."""

from ottla.compat.kafka.coordinator.assignors.abstract import AbstractPartitionAssignor

__all__ = ["CooperativeStickyAssignor"]


class CooperativeStickyAssignor(AbstractPartitionAssignor):
    """As few moves as possible, without giving up what stays (KIP-429)."""

    name = "cooperative-sticky"
