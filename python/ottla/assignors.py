"""Custom partition assignors for consumers of classic groups.

``ottla.Consumer(..., partition_assignment_strategy=[MyAssignor(), "range"])`` takes objects and the
names of Kafka's own assignors (``range``, ``roundrobin``, ``sticky``, ``cooperative-sticky``), in
order of preference. The members of a group must share an assignor of the same name; the group's
leader runs it. An exception in it or an invalid assignment raises a ``ConfigError`` from the
leader's poll.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ottla._core import MemberSubscription

__all__ = ["Assignor", "MemberSubscription"]


class Assignor(Protocol):
    """Assigns the partitions of topics to the members of a group.

    Its methods are called on threads of the core. It may also have:

    - ``cooperative``: true if members keep reading their partitions during a rebalance (KIP-429). A
      partition that moves is then assigned only after its owner has given it up. It takes effect
      if all assignors of a member are cooperative;
    - ``user_data(topics)``: returns bytes that the member sends to the leader's assignor, or None;
    - ``on_assignment(partitions, generation)``: called with this member's new assignment.
    """

    @property
    def name(self) -> str:
        """The assignor's name in the group protocol."""

    def assign(
        self,
        topics: Mapping[str, Mapping[int, Sequence[str]]],
        members: Sequence[MemberSubscription],
        /,
    ) -> Mapping[str, Sequence[tuple[str, int]]]:
        """Assign the partitions to the members.

        Args:
            topics: the existing topics that any member subscribes to: the racks of the replicas, by
                topic and partition.
            members: the group's members.

        Returns:
            The partitions of each member as topic and number, by member id. A missing member gets
            none. Assigning a partition twice, or to a member that does not subscribe to its topic,
            is an error.
        """
