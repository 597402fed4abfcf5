"""The calls of ``AIOKafkaProducer`` about transactions.

Invariants: a commit or an abort goes on if its call is cancelled. Before an abort the buffered
records are sent, so that their futures complete as with aiokafka.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import ottla
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._error_mapping import peer_error
from ottla.compat.aiokafka.errors import IllegalOperation, KafkaError, ProducerClosed
from ottla.compat.aiokafka.producer.transaction_manager import (
    TransactionContext,
    TransactionManager,
    TransactionState,
)
from ottla.compat.aiokafka.structs import OffsetAndMetadata, TopicPartition
from ottla.compat.aiokafka.util import commit_structure_validate

__all__ = ["TransactionalProducer"]


class TransactionalProducer:
    """The base of ``AIOKafkaProducer`` with its transactions."""

    # True once stopped; None if the constructor failed.
    _closed: bool | None = None
    _engine: ottla.AsyncProducer | None = None
    _txn_manager: TransactionManager
    _request_timeout: float

    async def begin_transaction(self) -> None:
        """Begin a transaction; the records sent from now on belong to it.

        Raises:
            IllegalOperation: there is no ``transactional_id``.
        """
        self._txn_manager.require_id()
        engine = self._started()
        await asyncio.sleep(0)
        self._txn_manager.move_to(TransactionState.IN_TRANSACTION)
        try:
            engine.begin_transaction()
        except ottla_errors.KafkaError as error:
            raise self._failed(error) from error

    async def commit_transaction(self) -> None:
        """Commit the transaction. Cancelling the call ends the wait alone.

        Raises:
            IllegalOperation: there is no ``transactional_id``.
            ProducerFenced: a newer producer has the id; stop this one.
            KafkaError: nothing was committed; abort.
        """
        self._txn_manager.require_id()
        self._txn_manager.move_to(TransactionState.COMMITTING_TRANSACTION)
        await asyncio.shield(asyncio.ensure_future(self._end_transaction(commits=True)))

    async def abort_transaction(self) -> None:
        """Abort the transaction. Cancelling the call ends the wait alone.

        Raises:
            IllegalOperation: there is no ``transactional_id``.
            ProducerFenced: a newer producer has the id; stop this one.
        """
        self._txn_manager.require_id()
        self._txn_manager.move_to(TransactionState.ABORTING_TRANSACTION)
        await asyncio.shield(asyncio.ensure_future(self._end_transaction(commits=False)))

    def transaction(self) -> TransactionContext:
        """Return a context manager that commits, or aborts after an exception."""
        return TransactionContext(self)

    async def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, int | tuple[int, str] | OffsetAndMetadata],
        group_id: str,
    ) -> None:
        """Commit offsets of a group together with the transaction.

        Args:
            offsets: the offset of the next record, or a pair of it and metadata, by partition.
            group_id: the group.

        Raises:
            IllegalOperation: no transaction is open.
            ValueError: the group or the offsets are invalid.
        """
        self._txn_manager.require_id()
        if not self._txn_manager.is_in_transaction():
            raise IllegalOperation("Not in the middle of a transaction")
        if not group_id or not isinstance(group_id, str):
            raise ValueError(group_id)
        committed: dict[tuple[str, int], int | ottla.OffsetAndMetadata] = {
            partition: ottla.OffsetAndMetadata(*item)
            for partition, item in commit_structure_validate(offsets).items()
        }
        call = self._started().send_offsets_to_transaction(committed, ottla.GroupMetadata(group_id))
        try:
            await asyncio.shield(call)
        except ottla_errors.KafkaError as error:
            raise self._failed(error) from error

    async def _end_transaction(self, *, commits: bool) -> None:
        engine = self._started()
        try:
            if commits:
                await engine.commit_transaction(timeout=self._request_timeout)
            else:
                await _flush(engine)
                await engine.abort_transaction(timeout=self._request_timeout)
        except ottla_errors.KafkaError as error:
            raise self._failed(error) from error
        self._txn_manager.state = TransactionState.READY

    def _failed(self, error: ottla_errors.KafkaError) -> Exception:
        converted = peer_error(error)
        self._txn_manager.fail(converted)
        return converted

    def _started(self) -> ottla.AsyncProducer:
        """Return the core, unless the producer is stopped or was not started."""
        if self._closed:
            raise ProducerClosed
        if self._engine is None:
            raise KafkaError("the producer is not started: await start() first")
        return self._engine


async def _flush(engine: ottla.AsyncProducer) -> None:
    """Send what is buffered, so that the futures of an aborted transaction complete as usual."""
    try:
        await engine.flush()
    except ottla_errors.KafkaError:
        return  # What cannot be sent is aborted.
