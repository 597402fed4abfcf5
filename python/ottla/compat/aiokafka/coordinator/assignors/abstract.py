"""The interface of assignors, also of an application's own."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping

from ottla.compat.aiokafka.cluster import ClusterMetadata
from ottla.compat.aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)

__all__ = ["AbstractPartitionAssignor"]


class AbstractPartitionAssignor(abc.ABC):
    """Distributes partitions over members. Consumers take the class, not an instance."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The assignor's name in the group protocol."""

    @classmethod
    @abc.abstractmethod
    def assign(
        cls, cluster: ClusterMetadata, members: Mapping[str, ConsumerProtocolMemberMetadata]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        """Return the partitions of each member, by member id.

        Args:
            cluster: the topics that the members subscribe to, with their partitions.
            members: the members' subscriptions, by member id.
        """

    @classmethod
    @abc.abstractmethod
    def metadata(cls, topics: Iterable[str]) -> ConsumerProtocolMemberMetadata:
        """Return the subscription to send to the group's leader."""

    @classmethod
    @abc.abstractmethod
    def on_assignment(cls, assignment: ConsumerProtocolMemberAssignment) -> None:
        """Take note of this member's new assignment."""


class CoreAssignor(AbstractPartitionAssignor):
    """An assignor that the core has, by its name."""

    @classmethod
    def metadata(cls, topics: Iterable[str]) -> ConsumerProtocolMemberMetadata:
        """Return the subscription without user data."""
        return ConsumerProtocolMemberMetadata(0, list(topics), b"")

    @classmethod
    def on_assignment(cls, assignment: ConsumerProtocolMemberAssignment) -> None:
        """Do nothing."""
