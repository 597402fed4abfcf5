"""``RoundRobinPartitionAssignor``, for programs that call or extend it; else the core has it."""

from __future__ import annotations

from collections.abc import Mapping

from ottla.compat.aiokafka.cluster import ClusterMetadata
from ottla.compat.aiokafka.coordinator.assignors.abstract import CoreAssignor
from ottla.compat.aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)

__all__ = ["RoundRobinPartitionAssignor"]


class RoundRobinPartitionAssignor(CoreAssignor):
    """Deals all partitions to the members in turn, skipping those without the topic."""

    name = "roundrobin"
    version = 0

    @classmethod
    def assign(
        cls, cluster: ClusterMetadata, members: Mapping[str, ConsumerProtocolMemberMetadata]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        """Return the partitions of each member, by member id."""
        order = sorted(members)
        shares: dict[str, dict[str, list[int]]] = {member: {} for member in order}
        turn = 0
        for topic in sorted({topic for item in members.values() for topic in item.subscription}):
            for number in sorted(cluster.partitions_for_topic(topic) or ()):
                while topic not in members[order[turn % len(order)]].subscription:
                    turn += 1
                shares[order[turn % len(order)]].setdefault(topic, []).append(number)
                turn += 1
        return {
            member: ConsumerProtocolMemberAssignment(cls.version, sorted(share.items()), b"")
            for member, share in shares.items()
        }
