"""Transactional ids of a mock cluster: their state, and the methods of ``MockCluster`` on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla._core import MockCluster as CoreCluster


@dataclass(frozen=True)
class TransactionState:
    """The state of a transactional id, as its coordinator describes it.

    Attributes:
        transactional_id: the ``transactional.id``.
        state: its state, by Kafka's name: ``Empty``, ``Ongoing``, ``CompleteCommit``, ….
        producer_id: the producer id.
        producer_epoch: the producer epoch.
        partitions: the partitions of the open transaction, as topic and index.
        groups: the groups whose offsets the open transaction commits.
    """

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[tuple[str, int], ...]
    groups: tuple[str, ...]


class TransactionOperations:
    """The methods of ``MockCluster`` on transactional ids."""

    _core: CoreCluster

    def transactions(self) -> dict[str, TransactionState]:
        """Return the state of each transactional id."""
        return {
            name: TransactionState(name, state, number, epoch, tuple(partitions), tuple(groups))
            for name, state, number, epoch, partitions, groups in self._core.transactions()
        }

    def fence_producer(self, transactional_id: str) -> None:
        """Fence a producer, as a newer one with its transactional id does: aborts its transaction.

        Args:
            transactional_id: the ``transactional.id``.

        Raises:
            ConfigError: no producer has used the id.
        """
        self._core.fence_producer(transactional_id)

    def set_transaction_version(self, level: int) -> None:
        """Finalize a level of the feature ``transaction.version``, as an upgrade does.

        Args:
            level: 2 for version 2 of the transaction protocol (KIP-890), 0 or 1 for version 1.

        Raises:
            ConfigError: there is no such level.
        """
        self._core.set_transaction_version(level)
