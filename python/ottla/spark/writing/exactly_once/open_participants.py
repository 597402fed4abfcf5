"""Makes sure that the transactions of a batch are still open, just before the batch is decided.

Called by ``driver`` between the write of a decision and its commit. Invariant: nothing is decided
while a participant may have expired. Ages are differences between times of brokers: the clocks of
the driver and the executors do not count where coordinators describe transactions (Kafka 3.0).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import ottla
from ottla.error_code import ErrorCode
from ottla.errors import BrokerError, KafkaError, StateError
from ottla.spark.writing.exactly_once.decision import Participant
from ottla.spark.writing.exactly_once.task_identity import WriteIdentity

_ONGOING = "Ongoing"
_COMMITTED = frozenset({"PrepareCommit", "CompleteCommit"})
# For the commit of the decision and of all transactions, with a broker that fails meanwhile.
_MARGIN = 30.0
# Of a short timeout, this part.
_MARGIN_PART = 0.25


@dataclass(frozen=True)
class OpenTime:
    """The age of a task's transaction, for brokers that cannot describe transactions.

    Attributes:
        opened: the time before it was opened, by the executor's clock, in seconds since 1970.
        prepared_after: the seconds until it was prepared, by a clock that is never set.
        timeout: ``transaction.timeout.ms``, in seconds.
    """

    opened: float
    prepared_after: float
    timeout: float

    def seconds_left(self) -> float:
        """Return the seconds until the broker may abort it, at most."""
        return self.timeout - max(time.time() - self.opened, self.prepared_after)


@dataclass(frozen=True)
class DriverTransaction:
    """The transaction with the decision, whose start shows what time it is on brokers.

    Attributes:
        transactional_id: its id.
        opened: a monotonic time before it was opened.
    """

    transactional_id: str
    opened: float


def check_open(
    admin: ottla.Admin,
    write: WriteIdentity,
    own: DriverTransaction,
    participants: Iterable[Participant],
    open_times: Mapping[str, OpenTime],
) -> None:
    """Raise unless each transaction is open, and for long enough to be committed.

    Args:
        admin: asks the coordinators.
        write: the batch.
        own: the open transaction with the decision.
        participants: the transactions that the decision will commit.
        open_times: what tasks know, by transactional id.

    Raises:
        StateError: a transaction has ended, or is about to expire.
        KafkaError: a coordinator could not be asked.
    """
    prepared = {each.transaction.transactional_id: each.transaction for each in participants}
    described = _describe(admin, [own.transactional_id, *prepared])
    if described is None:
        left = {name: open_times[name] for name in prepared if name in open_times}
        _check_left(write, {n: (t.seconds_left(), t.timeout) for n, t in left.items()})
        return
    for name, transaction in prepared.items():
        _check_state(write, transaction, described[name])
    now = _brokers_time(own, described[own.transactional_id])
    seconds: dict[str, tuple[float, float]] = {}
    for name in prepared:
        found = described[name]
        if now is None or isinstance(found, KafkaError) or found.start_time is None:
            continue
        seconds[name] = (found.timeout - (now - found.start_time / 1000), found.timeout)
    _check_left(write, seconds)


def _describe(
    admin: ottla.Admin, names: list[str]
) -> dict[str, ottla.TransactionDescription | KafkaError] | None:
    """Describe transactions; None if brokers do not support that."""
    try:
        described = admin.describe_transactions(names, errors="return")
    except BrokerError as error:
        if error.code == ErrorCode.UNSUPPORTED_VERSION:
            return None
        raise
    codes = {each.code for each in described.values() if isinstance(each, KafkaError)}
    return None if ErrorCode.UNSUPPORTED_VERSION in codes else described


def _brokers_time(
    own: DriverTransaction, described: ottla.TransactionDescription | KafkaError
) -> float | None:
    """Return the seconds since 1970 on brokers, or a little more; None if that is not known."""
    if isinstance(described, KafkaError) or described.start_time is None:
        # Another driver has just taken over: the decision will not be committed.
        return None
    return described.start_time / 1000 + time.monotonic() - own.opened


def _check_state(
    write: WriteIdentity,
    transaction: ottla.PreparedTransaction,
    found: ottla.TransactionDescription | KafkaError,
) -> None:
    name = transaction.transactional_id
    if isinstance(found, KafkaError):
        raise _ended(write, f"{name} ({found})") from found
    if found.producer_id == transaction.producer_id and found.state in _COMMITTED:
        raise StateError(
            f"exactlyOnce: batch {write.batch} of {write.query} is not decided, but something else "
            f"has committed the transaction {name}: its rows are visible, and would be written "
            "twice if the query ran again. Find out what ends transactions of ottla/…, and do not "
            "run the query again before these rows are deleted"
        )
    producer = (found.producer_id, found.producer_epoch)
    if found.state != _ONGOING or producer != (transaction.producer_id, transaction.producer_epoch):
        raise _ended(write, f"{name} (its coordinator has it as {found.state})")


def _check_left(write: WriteIdentity, seconds: Mapping[str, tuple[float, float]]) -> None:
    for name, (left, timeout) in seconds.items():
        if left < min(_MARGIN, _MARGIN_PART * timeout):
            raise _ended(
                write,
                f"{name} (opened {timeout - left:.1f} s ago, with a timeout of {timeout:g} s)",
            )


def _ended(write: WriteIdentity, what: str) -> StateError:
    return StateError(
        f"exactlyOnce: batch {write.batch} of {write.query} is not decided, because a transaction "
        f"was over, or about to expire, before all tasks had ended: {what}. This batch must be "
        "shorter than kafka.transaction.timeout.ms: raise it (brokers allow up to "
        "transaction.max.timeout.ms), or write less in a batch. This run has committed nothing of "
        f"the batch. {write.run_again()}: it writes what is missing"
    )
