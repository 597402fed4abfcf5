"""Subscriptions and assignments of group members, as assignors take and return them.

Invariant: no bytes; the core encodes what members send to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ottla.compat.aiokafka.structs import TopicPartition

__all__ = [
    "ConsumerProtocol",
    "ConsumerProtocolMemberAssignment",
    "ConsumerProtocolMemberMetadata",
]


class ConsumerProtocolMemberMetadata(NamedTuple):
    """A member's subscription."""

    version: int
    subscription: list[str]
    user_data: bytes


class ConsumerProtocolMemberAssignment(NamedTuple):
    """A member's partitions: pairs of a topic and the numbers of its partitions."""

    version: int
    assignment: Sequence[tuple[str, Sequence[int]]]
    user_data: bytes

    def partitions(self) -> list[TopicPartition]:
        """Return the partitions one by one."""
        return [
            TopicPartition(topic, number)
            for topic, numbers in self.assignment
            for number in numbers
        ]


class ConsumerProtocol:
    """The names of the protocol of consumers."""

    PROTOCOL_TYPE = "consumer"
    ASSIGNMENT_STRATEGIES = ("range", "roundrobin")
    METADATA = ConsumerProtocolMemberMetadata
    ASSIGNMENT = ConsumerProtocolMemberAssignment
