"""The transactions of ``AIOKafkaProducer``: which call is allowed when; no I/O.

Invariant: records are sent in a transaction or not at all; after a fatal error nothing is.
"""

from __future__ import annotations

from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING

from ottla.compat.aiokafka.errors import IllegalOperation, ProducerFenced

if TYPE_CHECKING:
    from ottla.compat.aiokafka.producer._transactional import TransactionalProducer

__all__ = ["TransactionContext", "TransactionManager", "TransactionState"]


class TransactionState(Enum):
    """The states of a transactional producer."""

    UNINITIALIZED = 1
    READY = 2
    IN_TRANSACTION = 3
    COMMITTING_TRANSACTION = 4
    ABORTING_TRANSACTION = 5
    ABORTABLE_ERROR = 6
    FATAL_ERROR = 7


_ENDS_FROM = {
    TransactionState.COMMITTING_TRANSACTION: (TransactionState.IN_TRANSACTION,),
    TransactionState.ABORTING_TRANSACTION: (
        TransactionState.IN_TRANSACTION,
        TransactionState.ABORTABLE_ERROR,
    ),
    TransactionState.IN_TRANSACTION: (TransactionState.READY,),
}


class TransactionManager:
    """The state of the producer's transactions."""

    def __init__(self, transactional_id: str | None) -> None:
        self.transactional_id = transactional_id
        self.state = TransactionState.UNINITIALIZED

    def require_id(self) -> None:
        """Refuse a call about transactions without a ``transactional_id``.

        Raises:
            IllegalOperation: there is none.
        """
        if self.transactional_id is None:
            raise IllegalOperation("You need to configure transaction_id to use transactions")

    def require_transaction(self) -> None:
        """Refuse to send records outside of a transaction.

        Raises:
            IllegalOperation: no transaction is open.
        """
        if self.transactional_id is not None and not self.is_in_transaction():
            raise IllegalOperation("Can't send messages while not in transaction")

    def is_in_transaction(self) -> bool:
        """Return whether a transaction is open."""
        return self.state is TransactionState.IN_TRANSACTION

    def is_fatal_error(self) -> bool:
        """Return whether the producer cannot be used any more."""
        return self.state is TransactionState.FATAL_ERROR

    def move_to(self, state: TransactionState) -> None:
        """Begin a transaction, or its end.

        Raises:
            AssertionError: the current state does not allow it.
        """
        if self.state not in _ENDS_FROM[state]:
            raise AssertionError(f"Invalid state transition {self.state} -> {state}")
        self.state = state

    def fail(self, error: Exception) -> None:
        """Take note of an error of a transaction."""
        is_fatal = isinstance(error, ProducerFenced)
        self.state = TransactionState.FATAL_ERROR if is_fatal else TransactionState.ABORTABLE_ERROR


class TransactionContext:
    """A transaction as an ``async with`` block: commits at its end, aborts after an exception."""

    def __init__(self, producer: TransactionalProducer) -> None:
        self._producer = producer

    async def __aenter__(self) -> TransactionContext:
        """Begin the transaction."""
        await self._producer.begin_transaction()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Commit or abort the transaction."""
        if exc_type is None:
            await self._producer.commit_transaction()
        elif not self._producer._txn_manager.is_fatal_error():  # noqa: SLF001 - its other half
            await self._producer.abort_transaction()
