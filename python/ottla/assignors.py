"""Assignors of your own, for consumers of classic groups, as the type checker sees them.

``ottla.Consumer(..., partition_assignment_strategy=[MyAssignor(), "range"])`` takes the names of
Kafka's own assignors (``range``, ``roundrobin``, ``sticky``, ``cooperative-sticky``) and objects,
the preferred first. Members agree on an assignor by its name, so every member of the group has to
offer one of the same name; the group's leader is asked. What it raises, or returns that is no
assignment, is a ``ConfigError`` in the leader's poll.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ottla._core import MemberSubscription

__all__ = ["Assignor", "MemberSubscription"]


class Assignor(Protocol):
    """Divides the partitions of topics among the members of a group.

    It is called on threads of the engine. Beside what is here it may have

    - ``cooperative``, true if members may keep reading what they own while they join again
      (KIP-429): what moves from one member to another is then held back until the first one has let
      go of it. All assignors of a member have to be cooperative for that;
    - ``user_data(topics)``, which returns what a member tells the leader's assignor: bytes or None;
    - ``on_assignment(partitions, generation)``, which is told what this member was given.
    """

    @property
    def name(self) -> str:
        """The name by which members agree on it."""

    def assign(
        self,
        topics: Mapping[str, Mapping[int, Sequence[str]]],
        members: Sequence[MemberSubscription],
        /,
    ) -> Mapping[str, Sequence[tuple[str, int]]]:
        """Return the partitions of each member, by the members' ids.

        ``topics`` are those that some member reads and that exist: for each partition the racks
        that have a replica. A member that is left out gets none. A partition that goes to two
        members, or to one that does not read its topic, is an error.
        """
