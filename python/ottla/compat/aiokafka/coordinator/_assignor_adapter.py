"""An application's own assignors, as the core calls them.

Invariant: a class of ours that is not extended is the core's assignor of its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ottla.compat.aiokafka.cluster import ClusterMetadata
from ottla.compat.aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from ottla.compat.aiokafka.coordinator.assignors.range import RangePartitionAssignor
from ottla.compat.aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from ottla.compat.aiokafka.coordinator.assignors.sticky.sticky_assignor import (
    StickyPartitionAssignor,
)
from ottla.compat.aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)
from ottla.compat.aiokafka.structs import PartitionMetadata

if TYPE_CHECKING:
    from ottla.assignors import Assignor, MemberSubscription

__all__ = ["assignment_strategy"]

_IN_CORE = (RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor)


def assignment_strategy(
    assignors: Sequence[type[AbstractPartitionAssignor]],
) -> list[str | Assignor]:
    """Return the assignors for ottla's consumer, in order of preference."""
    return [
        str(assignor.name) if assignor in _IN_CORE else _Adapter(assignor) for assignor in assignors
    ]


class _Adapter:
    """Calls an application's assignor with aiokafka's types."""

    def __init__(self, assignor: type[AbstractPartitionAssignor]) -> None:
        self._assignor = assignor
        self.name = str(assignor.name)

    def user_data(self, topics: Sequence[str]) -> bytes | None:
        """Return what the member sends to the leader."""
        return self._assignor.metadata(set(topics)).user_data or None

    def on_assignment(self, partitions: Sequence[tuple[str, int]], generation: int) -> None:
        """Pass on this member's assignment."""
        del generation
        self._assignor.on_assignment(_grouped(partitions))

    def assign(
        self,
        topics: Mapping[str, Mapping[int, Sequence[str]]],
        members: Sequence[MemberSubscription],
        /,
    ) -> Mapping[str, Sequence[tuple[str, int]]]:
        """Return each member's partitions."""
        cluster = ClusterMetadata()
        cluster._partitions = {  # noqa: SLF001 - made here
            topic: {
                number: PartitionMetadata(topic, number, -1, [], [], None) for number in partitions
            }
            for topic, partitions in topics.items()
        }
        subscriptions = {
            member.member_id: ConsumerProtocolMemberMetadata(
                0, list(member.topics), member.user_data or b""
            )
            for member in members
        }
        assigned = self._assignor.assign(cluster, subscriptions)
        return {
            member: [(topic, number) for topic, numbers in item.assignment for number in numbers]
            for member, item in assigned.items()
        }


def _grouped(partitions: Sequence[tuple[str, int]]) -> ConsumerProtocolMemberAssignment:
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    return ConsumerProtocolMemberAssignment(0, list(numbers.items()), b"")
