"""``StickyPartitionAssignor``, which the core runs."""

from __future__ import annotations

from collections.abc import Mapping

from ottla.compat.aiokafka.cluster import ClusterMetadata
from ottla.compat.aiokafka.coordinator.assignors.abstract import CoreAssignor
from ottla.compat.aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)

__all__ = ["StickyPartitionAssignor"]


class StickyPartitionAssignor(CoreAssignor):
    """Balances the partitions, and moves as few as possible from their members."""

    name = "sticky"
    version = 0

    @classmethod
    def assign(
        cls, cluster: ClusterMetadata, members: Mapping[str, ConsumerProtocolMemberMetadata]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        """Raise an error: only the core has this assignor.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("only the core has this assignor: pass the class")
