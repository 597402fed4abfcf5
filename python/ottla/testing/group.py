"""Consumer groups of a mock cluster: their state, and the methods of ``MockCluster`` on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla._core import MockCluster as CoreCluster


@dataclass(frozen=True)
class GroupMember:
    """A member of a group, as its coordinator describes it.

    Attributes:
        id: the member's id.
        instance_id: its ``group.instance.id`` (KIP-345), or None.
        client_id: its ``client.id``.
        epoch: the group's generation, or the member's epoch with KIP-848.
        assignment: its partitions, as topic and index.
    """

    id: str
    instance_id: str | None
    client_id: str
    epoch: int
    assignment: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Group:
    """A consumer group, as its coordinator describes it.

    Attributes:
        state: its state, by Kafka's name: ``Empty``, ``PreparingRebalance``, ``Stable``, ….
        kind: ``classic``, or ``consumer`` for KIP-848.
        assignor: the name of the assignor in use, or None.
        generation: the generation, or the group's epoch with KIP-848.
        leader: the id of the leader, in a classic group; None with KIP-848.
        members: its members.
    """

    state: str
    kind: str
    assignor: str | None
    generation: int
    leader: str | None
    members: tuple[GroupMember, ...]


class GroupOperations:
    """The methods of ``MockCluster`` on consumer groups, their coordinators and offsets."""

    _core: CoreCluster

    def coordinator(self, key: str) -> int | None:
        """Return the id of the broker that coordinates a group or a transactional id, or None.

        Args:
            key: the ``group.id`` or ``transactional.id``.
        """
        return self._core.coordinator(key)

    def move_coordinator(self, key: str, to: int) -> None:
        """Make another broker the coordinator of a group or a transactional id.

        Args:
            key: the ``group.id`` or ``transactional.id``.
            to: the id of the new coordinator.
        """
        self._core.move_coordinator(key, to)

    def group(self, group: str) -> Group | None:
        """Return a group's current state, or None if it does not exist.

        Args:
            group: the ``group.id``.
        """
        found = self._core.group(group)
        if found is None:
            return None
        state, kind, assignor, generation, leader, members = found
        named = (
            GroupMember(member_id, instance, client, epoch, tuple(assignment))
            for member_id, instance, client, epoch, assignment in members
        )
        return Group(state, kind, assignor, generation, leader, tuple(named))

    def members(self, group: str) -> tuple[GroupMember, ...]:
        """Return the members of a group; an empty tuple if it does not exist.

        Args:
            group: the ``group.id``.
        """
        found = self.group(group)
        return () if found is None else found.members

    def expire_member(self, group: str, member_id: str) -> None:
        """End a member's session, as if its heartbeats had not arrived.

        Args:
            group: the ``group.id``.
            member_id: the member's id.

        Raises:
            ConfigError: the group has no such member.
        """
        self._core.expire_member(group, member_id)

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """Return the offsets that a group has committed, by topic and partition.

        Args:
            group: the ``group.id``.
        """
        return self._core.committed(group)

    def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Commit an offset for a group, whether or not it has members.

        Args:
            group: the ``group.id``.
            topic: the topic.
            partition: the partition.
            offset: the offset of the next record to read.
        """
        self._core.commit(group, topic, partition, offset)

    def expire_offset(self, group: str, topic: str, partition: int) -> None:
        """Remove an offset of a group, as ``offsets.retention.minutes`` does.

        Args:
            group: the ``group.id``.
            topic: the topic.
            partition: the partition.
        """
        self._core.expire_offset(group, topic, partition)
