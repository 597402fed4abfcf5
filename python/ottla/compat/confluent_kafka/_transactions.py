"""The transactional calls of a producer, with librdkafka's states and flags of errors.

Invariants: a call that timed out continues, and only its repetition is accepted until it has ended;
an error says whether to repeat the call, to abort, or to close the producer.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import ottla
from ottla import errors
from ottla.compat.confluent_kafka._commits import offsets_of
from ottla.compat.confluent_kafka._error_codes import text_of
from ottla.compat.confluent_kafka._errors import failure, kafka_error
from ottla.compat.confluent_kafka._kafka_error import KafkaError, KafkaException
from ottla.compat.confluent_kafka._settings import Settings
from ottla.compat.confluent_kafka._topic_partition import TopicPartition


def transaction_error(error: errors.KafkaError) -> KafkaException:
    """Return the exception of a transactional call, with the flags that say what to do."""
    if isinstance(error, errors.TimeoutError):
        made = kafka_error(error, KafkaError._TIMED_OUT, retriable=True)
    elif isinstance(error, errors.FencedError):
        made = kafka_error(error, KafkaError._FENCED, fatal=True)
    elif isinstance(error, (errors.TransactionAbortableError, errors.CommitFailedError)):
        made = kafka_error(error, txn_requires_abort=True)
    elif isinstance(error, errors.StateError):
        made = kafka_error(error, KafkaError._STATE)
    elif isinstance(error, errors.ConfigError):
        made = kafka_error(error, KafkaError._INVALID_ARG)
    else:
        fatal = error.fatal or isinstance(error, errors.AuthorizationError)
        made = kafka_error(error, fatal=fatal, retriable=error.retriable and not fatal)
    exception = KafkaException(made)
    exception.__cause__ = error
    return exception


class Transactions:
    """The transactions of one producer.

    Args:
        settings: the producer's settings.
        producer: the ottla producer.
    """

    def __init__(self, settings: Settings, producer: ottla.Producer) -> None:
        self._settings = settings
        self._producer = producer
        self._is_transactional = bool(settings.ottla.get("transactional.id"))
        self._unfinished: str | None = None
        self._is_initialized = False
        self._is_open = False

    @property
    def is_enabled(self) -> bool:
        """Whether the producer has a transactional id."""
        return self._is_transactional

    def check_produce(self) -> None:
        """Refuse a message outside of a transaction."""
        if self._is_transactional and not self._is_open:
            reason = f"Unable to produce message: {text_of(KafkaError._STATE)}"
            raise failure(KafkaError._STATE, reason)

    def init(self, timeout: float) -> None:
        """Get a producer id, and end the transactions of earlier producers."""
        self._check("init_transactions", initialized=None, opened=None)
        if self._is_initialized:
            raise failure(KafkaError._STATE, "init_transactions() was called before")
        self._run("init_transactions", timeout, self._producer_init)
        self._is_initialized = True

    def begin(self) -> None:
        """Begin a transaction."""
        self._check("begin_transaction", initialized=True, opened=False)
        try:
            self._producer.begin_transaction()
        except errors.KafkaError as error:
            raise transaction_error(error) from error
        self._is_open = True

    def send_offsets(
        self, offsets: list[TopicPartition], group: ottla.GroupMetadata, timeout: float
    ) -> None:
        """Commit offsets of a consumer with the transaction."""
        self._check("send_offsets_to_transaction", initialized=True, opened=True)
        del timeout  # the producer's max.block.ms bounds the call
        found = offsets_of(offsets)
        if not found:
            return
        try:
            self._producer.send_offsets_to_transaction(found, group)
        except errors.KafkaError as error:
            raise transaction_error(error) from error

    def commit(self, timeout: float, flush: Callable[[float], int]) -> None:
        """Send what is queued, serve its reports, and commit the transaction."""
        self._check("commit_transaction", initialized=True, opened=True)
        deadline = time.monotonic() + timeout
        if flush(timeout):
            reason = "messages of the transaction are not acknowledged yet"
            raise failure(KafkaError._TIMED_OUT, reason, retriable=True)
        left = max(deadline - time.monotonic(), 0.0)
        self._run("commit_transaction", left, self._producer_commit)
        self._is_open = False

    def abort(
        self,
        timeout: float,
        purge: Callable[[], None],
        flush: Callable[[float], int],
    ) -> None:
        """Drop what is queued, abort the transaction, and serve the reports."""
        self._check("abort_transaction", initialized=True, opened=True)
        purge()
        self._run("abort_transaction", timeout, self._producer_abort)
        self._is_open = False
        flush(timeout)

    # -- calls of ottla -----------------------------------------------------------------------

    def _producer_init(self, timeout: float) -> None:
        self._producer.init_transactions(timeout=timeout)

    def _producer_commit(self, timeout: float) -> None:
        self._producer.commit_transaction(timeout=timeout)

    def _producer_abort(self, timeout: float) -> None:
        self._producer.abort_transaction(timeout=timeout)

    def _run(self, name: str, timeout: float, call: Callable[[float], None]) -> None:
        if not self._settings.has_brokers:
            self._wait_in_vain(name, timeout)
        try:
            call(timeout)
        except errors.TimeoutError as error:
            self._unfinished = name
            raise transaction_error(error) from error
        except errors.KafkaError as error:
            self._unfinished = None
            raise transaction_error(error) from error
        self._unfinished = None

    def _wait_in_vain(self, name: str, timeout: float) -> None:
        """Wait as long as the application wants: no broker is configured."""
        time.sleep(timeout)
        self._unfinished = name
        raise failure(KafkaError._TIMED_OUT, "no broker is configured", retriable=True)

    def _check(self, name: str, *, initialized: bool | None, opened: bool | None) -> None:
        """Refuse a call that the state does not allow."""
        if not self._is_transactional:
            raise failure(KafkaError._NOT_CONFIGURED, "transactional.id is not set")
        if self._unfinished is not None and self._unfinished != name:
            reason = f"{self._unfinished}() has timed out: call it again before {name}()"
            raise failure(KafkaError._CONFLICT, reason, retriable=True)
        wrong = [
            state
            for state, wanted, actual in (
                ("initialized", initialized, self._is_initialized),
                ("in a transaction", opened, self._is_open),
            )
            if wanted is not None and wanted != actual
        ]
        if wrong:
            reason = f"{name}() is not allowed: the producer's state is wrong ({wrong[0]})"
            raise failure(KafkaError._STATE, reason)
