"""``RangePartitionAssignor``, for programs that call or extend it; else the core has it."""

from __future__ import annotations

from collections.abc import Mapping

from ottla.compat.aiokafka.cluster import ClusterMetadata
from ottla.compat.aiokafka.coordinator.assignors.abstract import CoreAssignor
from ottla.compat.aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)

__all__ = ["RangePartitionAssignor"]


class RangePartitionAssignor(CoreAssignor):
    """Divides the partitions of each topic into one range a member, the first ones longer."""

    name = "range"
    version = 0

    @classmethod
    def assign(
        cls, cluster: ClusterMetadata, members: Mapping[str, ConsumerProtocolMemberMetadata]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        """Return the partitions of each member, by member id."""
        shares: dict[str, list[tuple[str, list[int]]]] = {member: [] for member in members}
        for topic in sorted({topic for item in members.values() for topic in item.subscription}):
            numbers = sorted(cluster.partitions_for_topic(topic) or ())
            readers = sorted(m for m, item in members.items() if topic in item.subscription)
            size, longer = divmod(len(numbers), len(readers))
            start = 0
            for place, member in enumerate(readers):
                end = start + size + (place < longer)
                if end > start:
                    shares[member].append((topic, numbers[start:end]))
                start = end
        return {
            member: ConsumerProtocolMemberAssignment(cls.version, share, b"")
            for member, share in shares.items()
        }
