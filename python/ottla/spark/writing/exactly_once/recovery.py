"""Recovery before a worker's first task of a run: it settles the transactions of earlier runs.

Invariant: after it, no transaction of another run of the query can be committed but those that the
last decision names, and of these each is known to be committed or lost.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, field

import ottla
from ottla.error_code import ErrorCode
from ottla.errors import BrokerError, KafkaError, StateError
from ottla.spark.writing.exactly_once.decision import Decision, Participant
from ottla.spark.writing.exactly_once.decision_log import DecisionLog
from ottla.spark.writing.exactly_once.lost_decisions import open_log
from ottla.spark.writing.exactly_once.task_identity import WriteIdentity

log = logging.getLogger(__name__)

# The transaction has ended already, one way or the other.
_ENDED = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
    }
)
# Coordinators repeat what they have done for as long as this.
_END_TIMEOUT = 120.0
_MAX_RUNS = 64


@dataclass(frozen=True)
class Recovery:
    """The decision about the batch that the run began with.

    Attributes:
        batch: the run's first batch, the only one that may have been decided before.
        decision: its decision by an earlier run, if there is one.
        ended: the errors of its transactions that could not be committed any more, by
            transactional id: they were committed long ago, or aborted.
    """

    batch: int
    decision: Decision | None = None
    ended: dict[str, KafkaError] = field(default_factory=dict)

    def committed(
        self, log_: DecisionLog, write: WriteIdentity, partition: int
    ) -> Participant | None:
        """Return the transaction that has committed the rows of a task already, if any."""
        if self.decision is None or write.batch != self.batch:
            return None
        participant = self.decision.participants.get(partition)
        if participant is None:
            return None
        name = participant.transaction.transactional_id
        if name in self.ended and not log_.is_committed(participant.marker, write.query, partition):
            log.warning(
                "exactlyOnce: the transaction %s was decided, but was over before it could be "
                "committed (%s); its rows are written again",
                name,
                self.ended[name],
            )
            return None
        return participant

    def expected_rows(self, batch: int, partition: int) -> int | None:
        """Return the number of rows that a task must have, if its batch was decided before."""
        if self.decision is None or batch != self.batch:
            return None
        participant = self.decision.participants.get(partition)
        return 0 if participant is None else participant.rows


_recoveries: OrderedDict[tuple[int, str, str, str], Recovery] = OrderedDict()
_lock = threading.Lock()


def recover(
    client: ottla.Client, log_: DecisionLog, write: WriteIdentity, fingerprint: str
) -> Recovery:
    """Settle what earlier runs of the query left, once per process and run."""
    key = (os.getpid(), log_.topic, write.query, write.run)
    with _lock:
        known = _recoveries.get(key)
        if known is None:
            known = _recoveries[key] = _recover(client, log_, write, fingerprint)
            while len(_recoveries) > _MAX_RUNS:
                _recoveries.popitem(last=False)
        return known


def _recover(
    client: ottla.Client, log_: DecisionLog, write: WriteIdentity, fingerprint: str
) -> Recovery:
    log_.check_topic()
    with ottla.Admin(client) as admin:
        decision = open_log(admin, log_, write)
        if decision is not None:
            check_decision(decision, write, fingerprint)
        if decision is not None and decision.run == write.run:
            # A worker that Spark started in the midst of the run.
            return Recovery(write.batch)
        ended: dict[str, KafkaError] = {}
        if decision is not None and decision.batch == write.batch:
            ended = end_all(admin, decision, commit=True)
        else:
            decision = None
        abort_open(admin, write, of_this_run=False)
    return Recovery(write.batch, decision, ended)


def check_decision(decision: Decision, write: WriteIdentity, fingerprint: str) -> None:
    """Raise if the last decision does not allow this batch to be written.

    Raises:
        StateError: a newer batch was decided, or this one with other columns or options.
    """
    if decision.run == write.run and decision.batch == write.batch:
        raise StateError(
            f"exactlyOnce: batch {write.batch} of {write.query} is committed already; this attempt "
            "of a task came too late"
        )
    if decision.batch > write.batch:
        raise StateError(
            f"exactlyOnce: batch {write.batch} of {write.query} is to be written, but batch "
            f"{decision.batch} was committed before: the query's checkpoint is older than what it "
            "has written. Put back the checkpoint that it had then. If that is lost, find out "
            f"where batch {decision.batch} ended in the source, from the rows that it has written, "
            "and start with a new checkpoint and startingOffsets set to that place: with the old "
            "checkpoint, or without startingOffsets, rows would be written twice"
        )
    if decision.batch == write.batch and decision.fingerprint != fingerprint:
        raise StateError(
            f"exactlyOnce: batch {write.batch} of {write.query} was decided with other columns or "
            f"options, and some of it may be visible. {write.run_as_it_was()}"
        )


def end_all(admin: ottla.Admin, decision: Decision, *, commit: bool) -> dict[str, KafkaError]:
    """End the transactions of a decision, and return the errors of those that had ended before.

    Raises:
        KafkaError: the outcome of one is not known, or it may not be ended.
    """
    transactions = [each.transaction for each in decision.participants.values()]
    results = admin.end_prepared_transactions(
        transactions, commit=commit, errors="return", timeout=_END_TIMEOUT
    )
    errors = {name: error for name, error in results.items() if error is not None}
    for error in errors.values():
        if error.code not in _ENDED:
            raise error
    return errors


def abort_open(admin: ottla.Admin, write: WriteIdentity, *, of_this_run: bool) -> list[str]:
    """Abort the open transactions of the query's tasks: of this run, or of all others.

    They would hold back readers until they time out. Of this run, attempts that are about to write
    are fenced too: Spark may not have killed them yet. Returns the transactional ids.
    """
    states = ["Ongoing", "Empty"] if of_this_run else ["Ongoing"]
    try:
        listed = admin.list_transactions(states=states, id_pattern=write.id_pattern())
    except BrokerError as error:
        if error.code != ErrorCode.UNSUPPORTED_VERSION:
            raise
        log.info("exactlyOnce: %s; what tasks left open ends by its timeout", error)
        return []
    ids = [
        each.transactional_id
        for each in listed
        if write.is_of_this_run(each.transactional_id) == of_this_run
    ]
    if ids:
        log.info("exactlyOnce: aborting what %d attempts of tasks left open", len(ids))
        admin.fence_producers(ids)
    return ids
