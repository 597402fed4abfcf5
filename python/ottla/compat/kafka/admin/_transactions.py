"""The admin calls about transactions, and the producers that write them (KIP-664)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, NamedTuple

import ottla
from ottla.compat.kafka._errors import translating
from ottla.compat.kafka._named import Named
from ottla.compat.kafka.admin._base import AdminBase
from ottla.compat.kafka.errors import IllegalArgumentError
from ottla.compat.kafka.structs import TopicPartition

__all__ = [
    "PartitionProducerState",
    "ProducerState",
    "TransactionCalls",
    "TransactionDescription",
    "TransactionListing",
    "TransactionState",
]


class TransactionState(str, Named, Enum):
    """The state of a transactional id."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    UNKNOWN = "Unknown"


class TransactionListing(NamedTuple):
    """A transactional id in a list."""

    transactional_id: str
    producer_id: int
    state: TransactionState


class TransactionDescription(NamedTuple):
    """The transaction of a transactional id; -1 for what is not known."""

    coordinator_id: int
    state: TransactionState
    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_start_time_ms: int
    topic_partitions: set[TopicPartition]


class ProducerState(NamedTuple):
    """A producer as the leader of a partition knows it; -1 for what is not known."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_transaction_start_offset: int


class PartitionProducerState(NamedTuple):
    """The producers of a partition."""

    active_producers: list[ProducerState]


class TransactionCalls(AdminBase):
    """The methods; ``KafkaAdminClient`` has the attributes."""

    def list_transactions(
        self,
        broker_ids: Iterable[int] | None = None,
        producer_id_filters: Iterable[int] | None = None,
        state_filters: Iterable[Any] | None = None,
        duration_filter_ms: int | None = None,
        transactional_id_pattern: str | None = None,
    ) -> dict[int, list[TransactionListing]]:
        """List transactional ids by the id of their coordinator."""
        with translating():
            found = self._admin.list_transactions(
                states=[TransactionState.value_for(each) for each in state_filters or ()] or None,
                producer_ids=list(producer_id_filters or ()) or None,
                running_longer_than=(
                    None if duration_filter_ms is None else duration_filter_ms / 1000
                ),
                id_pattern=transactional_id_pattern,
                timeout=self._seconds(),
            )
            cluster = self._ottla.cluster(timeout=self._seconds())
        brokers = cluster.brokers if broker_ids is None else broker_ids
        result: dict[int, list[TransactionListing]] = {broker: [] for broker in brokers}
        for each in found:
            if broker_ids is None or each.coordinator in result:
                listing = TransactionListing(
                    each.transactional_id, each.producer_id, _state(each.state)
                )
                result.setdefault(each.coordinator, []).append(listing)
        return result

    def describe_transactions(
        self, transactional_ids: Iterable[str]
    ) -> dict[str, TransactionDescription]:
        """Describe the transactions of transactional ids."""
        ids = list(transactional_ids)
        if not ids:
            return {}
        with translating():
            found = self._admin.describe_transactions(ids, timeout=self._seconds())
            listed = self._admin.list_transactions(timeout=self._seconds())
        coordinators = {each.transactional_id: each.coordinator for each in listed}
        return {
            name: TransactionDescription(
                coordinators.get(name, -1),
                _state(each.state),
                each.producer_id,
                each.producer_epoch,
                int(each.timeout * 1000),
                -1 if each.start_time is None else each.start_time,
                {TopicPartition(*partition) for partition in each.partitions},
            )
            for name, each in found.items()
        }

    def describe_producers(
        self, partitions: Iterable[TopicPartition], broker_id: int | None = None
    ) -> dict[TopicPartition, PartitionProducerState]:
        """Describe the producers that the leaders of partitions know."""
        if broker_id is not None:
            raise IllegalArgumentError("describe_producers: the leaders are asked")
        wanted = [(each[0], each[1]) for each in partitions]
        if not wanted:
            return {}
        with translating():
            found = self._admin.describe_producers(wanted, timeout=self._seconds())
        return {
            TopicPartition(*partition): PartitionProducerState([_producer(each) for each in states])
            for partition, states in found.items()
        }


def _known(value: int | None) -> int:
    return -1 if value is None else value


def _producer(found: ottla.ProducerState) -> ProducerState:
    return ProducerState(
        found.producer_id,
        found.producer_epoch,
        _known(found.last_sequence),
        _known(found.last_timestamp),
        _known(found.coordinator_epoch),
        _known(found.transaction_start_offset),
    )


def _state(name: str) -> TransactionState:
    try:
        return TransactionState(name)
    except ValueError:
        return TransactionState.UNKNOWN
