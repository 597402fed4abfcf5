"""Writes the rows of one task in a transaction, and leaves its end to the driver.

Invariant: a task that fails aborts its transaction. One that succeeds has either no row, or rows
that an earlier run has committed already, or a prepared transaction with its rows and a marker.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import ottla
from ottla.errors import InternalError, StateError
from ottla.spark import clients
from ottla.spark.options.write_options import ExactlyOnceOptions, WriteOptions
from ottla.spark.writing.exactly_once.decision import Participant
from ottla.spark.writing.exactly_once.decision_log import DecisionLog, marker_key
from ottla.spark.writing.exactly_once.open_participants import OpenTime
from ottla.spark.writing.exactly_once.recovery import Recovery, recover
from ottla.spark.writing.exactly_once.task_identity import TaskIdentity, WriteIdentity
from ottla.spark.writing.send_rows import send_rows
from ottla.spark.writing.write_report import TaskCommitMessage

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class PreparedTask(TaskCommitMessage):
    """The data that the driver needs to commit the rows of one task.

    Attributes:
        write: the query, run and batch.
        fingerprint: of the columns and options.
        participant: the task's transaction; None without rows.
        is_committed: whether an earlier run has committed this transaction.
        decided_by: the run whose decision about this batch the task has seen, if any.
        open_time: the age of its transaction; None without one, or if an earlier run committed it.
    """

    write: WriteIdentity | None = None
    fingerprint: str = ""
    participant: Participant | None = None
    is_committed: bool = False
    decided_by: str | None = None
    open_time: OpenTime | None = None


class _Rows:
    """Counts the rows that pass."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self.count = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            self.count += batch.num_rows
            if batch.num_rows:
                yield batch


def write_exactly_once(
    batches: Iterator[pa.RecordBatch],
    options: WriteOptions,
    exactly_once: ExactlyOnceOptions,
    identity: TaskIdentity,
    fingerprint: str,
) -> PreparedTask:
    """Write the rows of one task, or discard them if an earlier run has committed them."""
    write, partition = identity.write, identity.partition
    client = clients.client(options.kafka)
    decisions = DecisionLog(client, exactly_once.topic)
    recovery = recover(client, decisions, write, fingerprint)
    clients.freeze_gc()
    committed = recovery.committed(decisions, write, partition)
    rows = _Rows(batches)
    decided_by = _decided_by(recovery, write)
    if committed is not None:
        for _ in rows:
            pass
        _check_rows(recovery, identity, rows.count)
        return PreparedTask(
            committed.written,
            write,
            fingerprint,
            committed,
            is_committed=True,
            decided_by=decided_by,
        )
    iterator = iter(rows)
    first = next(iterator, None)
    if first is None:
        _check_rows(recovery, identity, 0)
        return PreparedTask({}, write, fingerprint, decided_by=decided_by)
    producer = ottla.Producer(client, transactional_id=identity.transactional_id)
    # On any failure, leaving the block closes the producer, which aborts its transaction.
    with producer:
        producer.init_transactions()
        opened, began = time.time(), time.monotonic()
        producer.begin_transaction()
        written = send_rows(producer, chain([first], iterator), options)
        _check_rows(recovery, identity, rows.count)
        marker = _send_marker(producer, decisions, identity)
        transaction = producer.prepare_transaction()
    if transaction is None:
        raise InternalError("exactlyOnce: a transaction with rows is empty")
    participant = Participant(partition, transaction, rows.count, marker, written)
    open_time = OpenTime(opened, time.monotonic() - began, options.transaction_timeout)
    return PreparedTask(
        written, write, fingerprint, participant, decided_by=decided_by, open_time=open_time
    )


def _decided_by(recovery: Recovery, write: WriteIdentity) -> str | None:
    is_replay = recovery.decision is not None and recovery.batch == write.batch
    return recovery.decision.run if recovery.decision is not None and is_replay else None


def _send_marker(
    producer: ottla.Producer, decisions: DecisionLog, identity: TaskIdentity
) -> tuple[int, int]:
    write = identity.write
    value = {"run": write.run, "batch": write.batch, "attempt": identity.attempt}
    sent = producer.send(
        decisions.topic,
        json.dumps(value),
        marker_key(write.query, identity.partition),
        partition=decisions.marker_partition(write.query, identity.partition),
    ).result()
    if sent.offset is None:
        raise InternalError("exactlyOnce: the broker did not report the marker's offset")
    return sent.partition, sent.offset


def _check_rows(recovery: Recovery, identity: TaskIdentity, rows: int) -> None:
    """Raise if a batch that was decided has other rows now."""
    expected = recovery.expected_rows(identity.write.batch, identity.partition)
    if expected is not None and rows != expected:
        raise StateError(
            f"exactlyOnce: partition {identity.partition} of batch {identity.write.batch} had "
            f"{expected} rows when it was decided, and has {rows} now. A batch must consist of the "
            f"same rows in the same partitions each time it runs, and some of it may be visible. "
            f"{identity.write.run_as_it_was()}"
        )
