"""Context managers for one transaction of a producer.

Invariant: a block that raises commits nothing, and its exception is the one that the caller sees.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ottla.errors import KafkaError, TransactionAbortableError

if TYPE_CHECKING:
    from types import TracebackType

    from ottla._core import AsyncProducer, Producer

__all__ = ["AsyncTransaction", "Transaction"]

_logger = logging.getLogger("ottla.transaction")


def _log_failed_abort(error: KafkaError) -> None:
    _logger.warning("aborting the transaction failed: %s", error)


class Transaction:
    """A transaction of a ``Producer``, as ``producer.transaction()`` returns it.

    The ``with`` block begins the transaction and commits it at its end. An exception in the block
    aborts it and is raised. If the commit fails, the transaction is aborted, and the error of the
    commit is raised: a ``TransactionAbortableError`` can be answered by doing the work again, a
    ``TimeoutError`` by calling ``producer.commit_transaction()`` again, and after an error with
    ``fatal`` set the producer must be closed.
    """

    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    def __enter__(self) -> Producer:
        self._producer.begin_transaction()
        return self._producer

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._abort()
            return
        try:
            self._producer.commit_transaction()
        except TransactionAbortableError:
            self._abort()
            raise

    def _abort(self) -> None:
        try:
            self._producer.abort_transaction()
        except KafkaError as error:
            # The exception that caused the abort is raised, and says more.
            _log_failed_abort(error)


class AsyncTransaction:
    """A transaction of an ``AsyncProducer``; it mirrors ``Transaction``."""

    def __init__(self, producer: AsyncProducer) -> None:
        self._producer = producer

    async def __aenter__(self) -> AsyncProducer:
        self._producer.begin_transaction()
        return self._producer

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            await self._abort()
            return
        try:
            await self._producer.commit_transaction()
        except TransactionAbortableError:
            await self._abort()
            raise

    async def _abort(self) -> None:
        try:
            await self._producer.abort_transaction()
        except KafkaError as error:
            _log_failed_abort(error)
