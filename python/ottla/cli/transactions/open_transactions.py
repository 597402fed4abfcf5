"""The open transactions of a topic, from the leaders and coordinators that respond.

Invariants: what could not be asked has an error, and hides nothing of the others. A transaction
counts as hanging only if all coordinators were asked, and its partition still has it open after
that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ottla import Admin, TransactionDescription
from ottla._measurements.leaderless import no_leader
from ottla.admin import TopicDescription
from ottla.cli.partial import each_alone, split
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError

_OPEN = {"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"}


@dataclass(frozen=True)
class OpenTransaction:
    """A transaction that is open in a partition; the fields are those of ``ottla``'s."""

    topic: str
    partition: int
    start_offset: int
    producer_id: int
    producer_epoch: int
    last_timestamp: int | None
    transaction: TransactionDescription | None = None
    is_hanging: bool = False


def open_transactions(
    admin: Admin, topic: TopicDescription
) -> tuple[list[OpenTransaction], list[KafkaError]]:
    """Return the open transactions of a topic by partition and offset, and what is missing."""
    leaderless = [each.partition for each in topic.partitions if each.leader is None]
    errors = [no_leader(topic.name, partition) for partition in leaderless]
    found, failed = _open_in(admin, topic, {each.partition for each in topic.partitions})
    errors += failed
    if not found:
        return [], errors
    known, unknown = _transactions_of(admin, found)
    errors += unknown
    found = [_with_transaction(each, known, is_complete=not unknown) for each in found]
    if suspects := {each.partition for each in found if each.is_hanging}:
        # It may have ended between the two requests.
        still, failed = _open_in(admin, topic, suspects)
        errors += failed
        places = {_place(each) for each in still}
        found = [each for each in found if not each.is_hanging or _place(each) in places]
    return found, errors


def _open_in(
    admin: Admin, topic: TopicDescription, wanted: Iterable[int]
) -> tuple[list[OpenTransaction], list[KafkaError]]:
    """Ask each leader for the transactions that are open in its partitions."""
    by_leader: dict[int, list[tuple[str, int]]] = {}
    for each in topic.partitions:
        if each.leader is not None and each.partition in wanted:
            by_leader.setdefault(each.leader, []).append((topic.name, each.partition))
    producers, failed = each_alone(
        by_leader, lambda leader: admin.describe_producers(by_leader[leader])
    )
    found = [
        OpenTransaction(
            name,
            partition,
            state.transaction_start_offset,
            state.producer_id,
            state.producer_epoch,
            state.last_timestamp,
        )
        for response in producers.values()
        for (name, partition), states in response.items()
        for state in states
        if state.transaction_start_offset is not None
    ]
    found.sort(key=lambda each: (each.partition, each.start_offset))
    for leader, error in failed.items():
        names = ", ".join(f"{name}-{partition}" for name, partition in by_leader[leader])
        error.args = (f"broker {leader} leads {names}, whose transactions are unknown: {error}",)
        error.context.setdefault("broker", leader)
    return found, list(failed.values())


def _transactions_of(
    admin: Admin, found: Iterable[OpenTransaction]
) -> tuple[dict[int, TransactionDescription], list[KafkaError]]:
    """Return the transactions of the producers by producer id, and the errors of coordinators."""
    producer_ids = sorted({each.producer_id for each in found})
    try:
        listed = admin.list_transactions(producer_ids=producer_ids, errors="return")
    except KafkaError as error:
        error.args = (f"which transactions hang is unknown: {error}",)
        return {}, [error]
    ids = [each.transactional_id for each in listed]
    described, failed = split(admin.describe_transactions(ids, errors="return"))
    # One that is not found has expired after it was listed.
    errors = [each for each in failed.values() if each.code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND]
    return {each.producer_id: each for each in described.values()}, [*listed.errors, *errors]


def _with_transaction(
    found: OpenTransaction, known: Mapping[int, TransactionDescription], *, is_complete: bool
) -> OpenTransaction:
    transaction = known.get(found.producer_id)
    is_part = (
        transaction is not None
        and transaction.state in _OPEN
        and (found.topic, found.partition) in transaction.partitions
    )
    is_hanging = not is_part and (is_complete or transaction is not None)
    return replace(found, transaction=transaction, is_hanging=is_hanging)


def _place(found: OpenTransaction) -> tuple[int, int, int]:
    return found.partition, found.start_offset, found.producer_id
