"""The open transactions of topics, from what leaders and coordinators report.

Invariants: what could not be asked has an error, and hides nothing of the others. A transaction
counts as hanging only if all coordinators were asked, or its own does not know it, and its
partition still has it open after that.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ottla._core import ProducerState, TransactionDescription, error_of_code
from ottla.admin.destinations import TopicPartition
from ottla.admin.items import ItemErrors, settle
from ottla.admin.operation_call import Call
from ottla.admin.topics import describe_topics
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError

_OPEN = {"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"}


@dataclass(frozen=True)
class OpenTransaction:
    """A transaction that is open in one partition, and keeps its last stable offset back.

    Attributes:
        topic: the topic.
        partition: the partition.
        start_offset: the first offset of the transaction in this partition. With
            ``read_committed``, consumers read nothing from the smallest one on.
        producer_id: the producer id.
        producer_epoch: the producer epoch.
        last_timestamp: the time of its last batch, in milliseconds since 1970; None if unknown.
        transaction: the transaction as its coordinator knows it; None if no coordinator lists the
            producer, or the principal may not describe it.
        is_hanging: whether the transaction hangs, so that no coordinator will end it: none of them
            knows that it is open here. ``Admin.abort_hanging_transaction`` ends it.
    """

    topic: str
    partition: int
    start_offset: int
    producer_id: int
    producer_epoch: int
    last_timestamp: int | None = None
    transaction: TransactionDescription | None = None
    is_hanging: bool = False

    @property
    def place(self) -> tuple[str, int, int, int]:
        """What identifies it: topic, partition, first offset, producer id."""
        return self.topic, self.partition, self.start_offset, self.producer_id


async def find_partitions(
    call: Call, topics: Sequence[str], errors: ItemErrors
) -> tuple[list[tuple[int, list[TopicPartition]]], list[KafkaError]]:
    """Return the partitions to ask for together, with the broker to ask, and what cannot be asked.

    If errors are raised, all partitions are asked for at once, also those without leader: it may be
    elected in time. The broker is -1 then.

    Raises:
        KafkaError: of a topic, if errors are raised.
    """
    described = await describe_topics(call, topics, authorized_operations=False)
    if errors == "raise":
        each_topic = settle(described, "raise").values()
        everything = [
            (topic.name, each.partition) for topic in each_topic for each in topic.partitions
        ]
        return [(-1, everything)], []
    missing: list[KafkaError] = []
    by_leader: dict[int, list[TopicPartition]] = {}
    for topic in described.values():
        if isinstance(topic, KafkaError):
            missing.append(topic)
            continue
        for each in topic.partitions:
            place = topic.name, each.partition
            if each.leader is None:
                code = ErrorCode.LEADER_NOT_AVAILABLE
                missing.append(error_of_code(code, topic=topic.name, partition=each.partition))
            else:
                by_leader.setdefault(each.leader, []).append(place)
    return sorted(by_leader.items()), missing


def unknown_producers(
    broker: int, partitions: Iterable[TopicPartition], error: KafkaError
) -> KafkaError:
    """Return a leader's error with the partitions whose transactions are unknown for it."""
    names = ", ".join(f"{topic}-{partition}" for topic, partition in partitions)
    error.args = (f"broker {broker} leads {names}, whose transactions are unknown: {error}",)
    error.context.setdefault("broker", broker)
    return error


def without_transactions(
    producers: Mapping[TopicPartition, Sequence[ProducerState]],
) -> list[OpenTransaction]:
    """Return the open transactions among producers, by partition and offset."""
    found = [
        OpenTransaction(
            topic,
            partition,
            state.transaction_start_offset,
            state.producer_id,
            state.producer_epoch,
            state.last_timestamp,
        )
        for (topic, partition), states in producers.items()
        for state in states
        if state.transaction_start_offset is not None
    ]
    return sorted(found, key=lambda each: each.place)


def with_transactions(
    found: Iterable[OpenTransaction],
    described: Mapping[str, TransactionDescription | KafkaError],
    *,
    is_complete: bool,
) -> tuple[list[OpenTransaction], list[KafkaError]]:
    """Return the open transactions with what coordinators know of them, and why that lacks some.

    Args:
        found: the open transactions.
        described: the transactions of their producers, by transactional id.
        is_complete: whether all coordinators listed their transactional ids.
    """
    known = {
        each.producer_id: each for each in described.values() if not isinstance(each, KafkaError)
    }
    # One that is not found has expired after it was listed.
    failed = [
        each
        for each in described.values()
        if isinstance(each, KafkaError) and each.code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    ]
    is_complete = is_complete and not failed
    return [_with(each, known.get(each.producer_id), is_complete) for each in found], failed


def _with(
    found: OpenTransaction, transaction: TransactionDescription | None, is_complete: bool
) -> OpenTransaction:
    is_part = (
        transaction is not None
        and transaction.state in _OPEN
        and (found.topic, found.partition) in transaction.partitions
    )
    is_hanging = not is_part and (is_complete or transaction is not None)
    return replace(found, transaction=transaction, is_hanging=is_hanging)


def still_open(
    found: Iterable[OpenTransaction],
    again: Iterable[OpenTransaction],
    not_asked: Container[TopicPartition],
) -> list[OpenTransaction]:
    """Return what still is open in its partition; one may have ended between the two requests.

    Args:
        found: the open transactions.
        again: those of the partitions where one seemed to hang, after coordinators were asked.
        not_asked: the partitions that could not be asked again: whether one hangs is unknown.
    """
    places = {each.place for each in again}
    return [
        replace(each, is_hanging=each.place in places)
        for each in found
        if not each.is_hanging or each.place in places or each.place[:2] in not_asked
    ]
