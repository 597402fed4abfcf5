"""Reassignments of replicas in a mock cluster: the methods of ``MockCluster`` on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla._core import MockCluster as CoreCluster


@dataclass(frozen=True)
class Reassignment:
    """A reassignment of replicas that is in progress.

    Attributes:
        adding: the ids of the brokers that get a replica.
        removing: the ids of the brokers that lose theirs.
    """

    adding: tuple[int, ...]
    removing: tuple[int, ...]


class ReassignmentOperations:
    """The methods of ``MockCluster`` on reassignments."""

    _core: CoreCluster

    def hold_reassignments(self, hold: bool = True) -> None:
        """Keep reassignments in progress: the replicas that they add do not catch up.

        Args:
            hold: False completes all of them; later ones complete at once again, as in a new
                cluster.
        """
        self._core.hold_reassignments(hold)

    def complete_reassignment(self, topic: str, partition: int) -> None:
        """Complete a reassignment: its new replicas catch up, and the old ones are removed.

        Args:
            topic: the topic.
            partition: the partition.

        Raises:
            ConfigError: the partition does not exist, or is not being reassigned.
        """
        self._core.complete_reassignment(topic, partition)

    def reassignment(self, topic: str, partition: int) -> Reassignment | None:
        """Return the reassignment of a partition that is in progress, or None.

        Args:
            topic: the topic.
            partition: the partition.
        """
        found = self._core.reassignment(topic, partition)
        return None if found is None else Reassignment(tuple(found[0]), tuple(found[1]))
