"""Tells a decision log that was lost from a query that has not decided anything yet.

A topic that was deleted, or whose records were, says nothing of a batch that is visible in part or
as a whole. Invariant: a query's opening record is durable before its driver's transactional id
exists, so a log without it is a fresh start only if no coordinator knows that id. Coordinators
forget an id that is not used for ``transactional.id.expiration.ms``, a week by default. Brokers
before Kafka 3.0 do not say whether they know it, so each first run has a warning there.
"""

from __future__ import annotations

import logging

import ottla
from ottla.error_code import ErrorCode
from ottla.errors import BrokerError, KafkaError, StateError
from ottla.spark.writing.exactly_once.decision import Decision
from ottla.spark.writing.exactly_once.decision_log import DecisionLog, History
from ottla.spark.writing.exactly_once.task_identity import WriteIdentity

log = logging.getLogger(__name__)


def open_log(admin: ottla.Admin, log_: DecisionLog, write: WriteIdentity) -> Decision | None:
    """Return the query's last decision; write its opening record if there is none.

    Raises:
        StateError: the decisions of the query are lost.
        TimeoutError: a decision that is being written is not done within a minute.
    """
    history = log_.history(write.query)
    if history.is_opened:
        return history.last
    is_known = _is_known(admin, write.driver_transactional_id())
    if is_known:
        # Another worker may have opened it, and the driver begun, in between.
        return known_history(log_, write).last
    if is_known is None:
        log.warning(
            "exactlyOnce: the topic %s has no decision of %s, so this is taken for its first run: "
            "brokers before Kafka 3.0 do not say whether it has run before. If it has, the topic "
            "was deleted or changed: stop the query, or its last batch may be written twice",
            log_.topic,
            write.query,
        )
    log_.open(write.query)
    return history.last


def known_history(log_: DecisionLog, write: WriteIdentity) -> History:
    """Return what the log has of a query that has an opening record.

    Raises:
        StateError: the decisions of the query are lost.
    """
    history = log_.history(write.query)
    if not history.is_opened:
        raise StateError(
            f"exactlyOnce: the topic {log_.topic} has no decision of {write.query}, although this "
            "query has run before: was the topic deleted, were records of it, or was "
            "exactlyOnceTopic changed? Its last batch may be visible, or a part of it, and would "
            "be written again. Set exactlyOnceTopic as before, if it was changed. Otherwise look "
            "at what read_committed consumers see of the last batch, and continue after it under "
            "a new name: a stream with a new checkpoint and startingOffsets, a batch query with a "
            "new exactlyOnceId and the rows that are missing"
        )
    return history


def _is_known(admin: ottla.Admin, transactional_id: str) -> bool | None:
    """Whether a coordinator knows an id; None if brokers cannot say."""
    try:
        found = admin.describe_transactions([transactional_id], errors="return")[transactional_id]
    except BrokerError as error:
        found = error
    if not isinstance(found, KafkaError):
        return True
    if found.code == ErrorCode.UNSUPPORTED_VERSION:
        return None
    if found.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        return False
    raise found
