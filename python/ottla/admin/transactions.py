"""Plans of the calls about transactions, from what the coordinators and the leaders report.

Invariant: a plan is an error if the call would be one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ottla._core import (
    PreparedTransaction,
    TransactionDescription,
    error_of_code,
)
from ottla.admin.open_transactions import OpenTransaction
from ottla.admin.partitions import partitions_text
from ottla.admin.plan import Plan, PlannedChange
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError, StateError


def plan_fencing(
    transactional_ids: Iterable[str],
    described: Mapping[str, TransactionDescription | KafkaError],
) -> Plan:
    """Return the producers that would be fenced, and the transactions that would be aborted."""
    changes = []
    for transactional_id in transactional_ids:
        found = described[transactional_id]
        resource = f"transactional id {transactional_id}"
        if not isinstance(found, KafkaError):
            detail = f"producer id {found.producer_id}"
            if found.state == "Ongoing":
                partitions = partitions_text(found.partitions)
                detail += f", aborts its transaction in {partitions or 'no partition'}"
            change = PlannedChange(
                "fence", resource, detail, f"epoch {found.producer_epoch}", "a newer epoch"
            )
        elif found.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            change = PlannedChange("create", resource, "its coordinator does not know it")
        else:
            raise found
        changes.append(change)
    return Plan(changes)


def plan_ends(
    transactions: Iterable[PreparedTransaction],
    described: Mapping[str, TransactionDescription | KafkaError],
    *,
    commit: bool,
) -> Plan:
    """Return the transactions that would be committed or aborted.

    Raises:
        KafkaError: of the first transaction that has ended otherwise.
    """
    end = "Commit" if commit else "Abort"
    changes = []
    for each in transactions:
        found = described[each.transactional_id]
        if isinstance(found, KafkaError) and found.code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise found
        name = f"transactional id {each.transactional_id}"
        if isinstance(found, KafkaError) or found.producer_id != each.producer_id:
            raise error_of_code(ErrorCode.INVALID_PRODUCER_ID_MAPPING, name)
        if found.state == "Ongoing" and found.producer_epoch == each.producer_epoch:
            changes.append(
                PlannedChange(
                    end.lower(),
                    f"transaction of {each.transactional_id}",
                    partitions_text(found.partitions),
                    found.state,
                    f"Complete{end}",
                )
            )
            continue
        # With version 2 of the protocol, the end of a transaction raises the epoch (KIP-890).
        ended = each.producer_epoch + (each.protocol > 1)
        if found.producer_epoch not in {each.producer_epoch, ended} or found.state == "Ongoing":
            raise error_of_code(ErrorCode.PRODUCER_FENCED, name)
        if found.state not in {f"Prepare{end}", f"Complete{end}"}:
            raise error_of_code(ErrorCode.INVALID_TXN_STATE, f"{name}: its state is {found.state}")
    return Plan(changes)


def plan_abort(
    opened: Iterable[OpenTransaction], topic: str, partition: int, start_offset: int
) -> Plan:
    """Return the hanging transaction that would be aborted.

    Raises:
        StateError: none starts at the offset, or it does not hang.
    """
    here = [each for each in opened if (each.topic, each.partition) == (topic, partition)]
    found = next((each for each in here if each.start_offset == start_offset), None)
    partition_name = f"{topic}-{partition}"
    if found is None:
        starts = ", ".join(str(each.start_offset) for each in here)
        known = f"those that are open start at {starts}" if starts else "none is open there"
        raise StateError(
            f"no open transaction starts at offset {start_offset} in {partition_name}: {known}"
        )
    if not found.is_hanging:
        named = found.transaction.transactional_id if found.transaction else "?"
        raise StateError(
            f"the transaction in {partition_name} does not hang: the coordinator of the "
            f"transactional id {named} knows it and will end it. To abort it at once, fence its "
            "producer"
        )
    resource = f"hanging transaction of producer id {found.producer_id}"
    detail = f"{partition_name} at offset {start_offset}"
    return Plan([PlannedChange("abort", resource, detail, "open", "aborted")])
