"""The base class of partitioners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ottla.compat.kafka.cluster import ClusterMetadata

__all__ = ["Partitioner"]


class Partitioner(ABC):
    """Chooses the partition of each record that has none."""

    @abstractmethod
    def partition(
        self,
        topic: str,
        key: Any,
        serialized_key: bytes | None,
        value: Any,
        serialized_value: bytes | None,
        cluster: ClusterMetadata,
    ) -> int | None:
        """Return the record's partition.

        Args:
            topic: the topic.
            key: the key as it was passed to ``send``.
            serialized_key: the key as bytes.
            value: the value as it was passed to ``send``.
            serialized_value: the value as bytes.
            cluster: the topics and partitions that are known.
        """
