"""Custom partition assignors for consumers of classic groups.

``ottla.Consumer(..., partition_assignment_strategy=[MyAssignor(), "range"])`` takes objects and the
names of Kafka's own assignors (``range``, ``roundrobin``, ``sticky``, ``cooperative-sticky``), the
preferred first. Members agree on an assignor by its name, so all of them must offer one of the same
name; the group's leader runs it. An exception in it, or an invalid assignment, is a ``ConfigError``
of the leader's poll.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ottla._core import MemberSubscription

__all__ = ["Assignor", "MemberSubscription"]


class Assignor(Protocol):
    """Divides the partitions of topics among the members of a group.

    Its methods are called on threads of the engine. It may also have:

    - ``cooperative``: true if members keep reading their partitions during a rebalance (KIP-429). A
      partition that moves is then assigned only after its owner has given it up. It takes effect
      if all assignors of a member are cooperative;
    - ``user_data(topics)``: returns bytes that the member sends to the leader's assignor, or None;
    - ``on_assignment(partitions, generation)``: called with the partitions of this member.
    """

    @property
    def name(self) -> str:
        """The assignor's name, by which members agree on it."""

    def assign(
        self,
        topics: Mapping[str, Mapping[int, Sequence[str]]],
        members: Sequence[MemberSubscription],
        /,
    ) -> Mapping[str, Sequence[tuple[str, int]]]:
        """Assign the partitions to the members.

        Args:
            topics: the existing topics that a member subscribes to: by topic and partition, the
                racks of its replicas.
            members: the group's members.

        Returns:
            The partitions of each member, by member id, as topic and number. A member that is
            missing gets none. Assigning a partition twice, or to a member that does not subscribe
            to its topic, is an error.
        """
