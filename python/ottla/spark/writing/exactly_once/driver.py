"""The driver's part: decides a batch, and ends the transactions of its tasks.

Invariants: the decision is durable before the first transaction is committed, and is written by a
producer that has fenced every older driver of the query. A decided batch is never aborted.
Each error says how to run the query again, and doing so never writes a row twice.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import ottla
from ottla import errors
from ottla.error_code import ErrorCode
from ottla.errors import FencedError, KafkaError, StateError
from ottla.spark import clients
from ottla.spark.options.write_options import ExactlyOnceOptions
from ottla.spark.writing.exactly_once.decision import Decision, Participant
from ottla.spark.writing.exactly_once.decision_log import DECISIONS, DecisionLog
from ottla.spark.writing.exactly_once.lost_decisions import known_history
from ottla.spark.writing.exactly_once.open_participants import (
    DriverTransaction,
    OpenTime,
    check_open,
)
from ottla.spark.writing.exactly_once.recovery import abort_open, end_all
from ottla.spark.writing.exactly_once.task import PreparedTask
from ottla.spark.writing.exactly_once.task_identity import WriteIdentity

log = logging.getLogger(__name__)

# A driver that dies while it decides holds its successor up for about this long.
_TIMEOUT_MS = 10_000
_ATTEMPTS = 6
# INVALID_PRODUCER_EPOCH and PRODUCER_FENCED.
_FENCED = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})


class _Driver:
    """The right to decide one batch.

    Taken anew for each batch, because Spark commits in any of several processes, and each of them
    would fence what the others had kept.
    """

    def __init__(self, client: ottla.Client, decisions: DecisionLog, write: WriteIdentity) -> None:
        self._decisions = decisions
        self._write = write
        self._id = write.driver_transactional_id()
        self._producer = ottla.Producer(
            client, transactional_id=self._id, transaction_timeout_ms=_TIMEOUT_MS
        )
        # From now on, no other driver can add a decision: the last one is final.
        self._producer.init_transactions()

    def last_decision(self) -> Decision | None:
        """Return the query's last decision.

        Raises:
            StateError: the decisions of the query are lost.
        """
        return known_history(self._decisions, self._write).last

    def decide(self, decision: Decision, check: Callable[[DriverTransaction], None]) -> None:
        """Make a decision durable, if ``check`` raises nothing just before.

        Raises:
            KafkaError: it is not, or that is not known: whoever runs the batch again will see.
        """
        producer = self._producer
        own = DriverTransaction(self._id, time.monotonic())
        producer.begin_transaction()
        value = decision.encode()
        sent = producer.send(self._decisions.topic, value, decision.query, partition=DECISIONS)
        producer.flush()
        sent.result()
        # As late as possible: only the commit, which is one request, remains.
        check(own)
        for attempt in range(_ATTEMPTS):
            try:
                producer.commit_transaction(timeout=_TIMEOUT_MS / 1000)
                break
            except errors.TimeoutError as error:
                if attempt == _ATTEMPTS - 1:
                    raise StateError(
                        f"exactlyOnce: it is not known whether batch {decision.batch} of "
                        f"{decision.query} is decided: {error}. {self._write.run_again()}: it "
                        "completes the batch, or writes it"
                    ) from error

    def close(self) -> None:
        """Close the producer, which aborts an uncommitted transaction."""
        # Another driver may have aborted it by taking over.
        with contextlib.suppress(KafkaError):
            self._producer.close()


def commit_batch(
    messages: Sequence[PreparedTask], kafka: Mapping[str, str], options: ExactlyOnceOptions
) -> None:
    """Decide a batch and commit the transactions of its tasks.

    Raises:
        KafkaError: not all are committed; the batch must be run again, which completes it.
    """
    write = _common_write(messages)
    if write is None or not any(_is_new(message) for message in messages):
        # No task has rows, or an earlier run has committed all of them.
        return
    decision = Decision(
        write.query,
        write.run,
        write.batch,
        len(messages),
        messages[0].fingerprint,
        {each.participant.partition: each.participant for each in messages if each.participant},
    )
    client = clients.client(kafka)
    decisions = DecisionLog(client, options.topic)
    new = replace(decision, participants=_new_participants(messages))
    with ottla.Admin(client) as admin:

        def check(own: DriverTransaction) -> None:
            check_open(admin, write, own, new.participants.values(), _open_times(messages))

        try:
            with contextlib.closing(_Driver(client, decisions, write)) as driver:
                last = driver.last_decision()
                _check_last(last, decision, {each.decided_by for each in messages}, write)
                driver.decide(decision, check)
        except KafkaError as error:
            if error.code in _FENCED:
                raise FencedError(
                    f"exactlyOnce: another driver runs the query {write.query}: {error}"
                ) from error
            raise
        _commit_decided(admin, write, new, len(decision.participants))
        _abort_losers(admin, write)


def _commit_decided(
    admin: ottla.Admin, write: WriteIdentity, new: Decision, participants: int
) -> None:
    """Commit the transactions that a decision has added.

    Raises:
        StateError: not all are committed; the batch must be run again, which completes it.
    """
    try:
        lost = end_all(admin, new, commit=True)
    except KafkaError as error:
        raise StateError(
            f"exactlyOnce: batch {write.batch} of {write.query} is decided, but not all of its "
            f"transactions are known to be committed: {error}. {write.run_again()}: it completes "
            "the batch"
        ) from error
    if lost:
        _abort_losers(admin, write)
        name, cause = next(iter(lost.items()))
        raise StateError(
            f"exactlyOnce: {len(lost)} of {participants} transactions of batch {write.batch} of "
            f"{write.query} were over before they could be committed, {name} among them ({cause}). "
            f"{write.run_again()}: it writes only what is missing"
        )


def abort_batch(
    write: WriteIdentity,
    messages: Sequence[PreparedTask],
    kafka: Mapping[str, str],
    options: ExactlyOnceOptions,
) -> bool:
    """Abort the transactions of a batch that failed, unless it is decided; return whether it is.

    Raises:
        StateError: the decisions of the query are lost, so that it is not known.
    """
    client = clients.client(kafka)
    decisions = DecisionLog(client, options.topic)
    if messages:
        # A task that has prepared a transaction has seen the opening record.
        last = known_history(decisions, write).last
    else:
        last = decisions.last_decision(write.query)
    if last is not None and (last.run, last.batch) == (write.run, write.batch):
        return True
    participants = _new_participants(messages)
    aborted = Decision(write.query, write.run, write.batch, len(messages), "", participants)
    with ottla.Admin(client) as admin:
        end_all(admin, aborted, commit=False)
        abort_open(admin, write, of_this_run=True)
    return False


def _open_times(messages: Sequence[PreparedTask]) -> dict[str, OpenTime]:
    return {
        each.participant.transaction.transactional_id: each.open_time
        for each in messages
        if each.participant is not None and each.open_time is not None
    }


def _new_participants(messages: Sequence[PreparedTask]) -> dict[int, Participant]:
    return {
        each.participant.partition: each.participant
        for each in messages
        if each.participant is not None and _is_new(each)
    }


def _is_new(message: PreparedTask) -> bool:
    return message.participant is not None and not message.is_committed


def _common_write(messages: Sequence[PreparedTask]) -> WriteIdentity | None:
    writes = {message.write for message in messages}
    if len(writes) > 1:
        raise StateError(f"exactlyOnce: the tasks are of different writes: {writes}")
    return writes.pop() if writes else None


def _check_last(
    last: Decision | None, new: Decision, decided_by: set[str | None], write: WriteIdentity
) -> None:
    """Raise if a decision was added that the tasks have not seen."""
    if last is None or last.batch < new.batch:
        return
    if last.batch > new.batch or decided_by != {last.run}:
        raise StateError(
            f"exactlyOnce: batch {last.batch} of {new.query} was decided by another driver, run "
            f"{last.run}, while this one wrote batch {new.batch}. Only one driver may run a query. "
            "When the other one has ended, run the query again, with the checkpoint that the "
            "other one used if it is a stream: it completes that batch"
        )
    if last.tasks != new.tasks:
        raise StateError(
            f"exactlyOnce: batch {new.batch} of {new.query} had {last.tasks} tasks when it was "
            f"decided, and has {new.tasks} now. A batch must consist of the same rows in the same "
            f"partitions each time it runs, and some of it may be visible. {write.run_as_it_was()}"
        )


def _abort_losers(admin: ottla.Admin, write: WriteIdentity) -> None:
    """Abort what attempts left open that Spark did not need: speculative and killed ones."""
    try:
        abort_open(admin, write, of_this_run=True)
    except KafkaError as error:
        log.warning(
            "exactlyOnce: batch %d is committed, but transactions of tasks that were not needed "
            "may be open until they time out, and hold back readers: %s",
            write.batch,
            error,
        )
