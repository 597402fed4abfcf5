"""Acknowledgements of the core as futures of aiokafka's ``RecordMetadata``.

A future of a record is its own delivery callback: a function for each would be three more objects.
Invariant: a future completes once, on its loop; one that the application has cancelled stays so.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import ottla
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._error_mapping import peer_error
from ottla.compat.aiokafka.producer.transaction_manager import TransactionManager
from ottla.compat.aiokafka.structs import RecordMetadata, TopicPartition

if TYPE_CHECKING:
    _Future = asyncio.Future[Any]
else:
    _Future = asyncio.Future

__all__ = [
    "RecordFuture",
    "TransactionalFuture",
    "UnacknowledgedFuture",
    "batch_future",
    "record_metadata",
]

_UNKNOWN_OFFSET = -1

_place = lru_cache(4096)(TopicPartition)
_new = tuple.__new__


def record_metadata(metadata: ottla.RecordMetadata) -> RecordMetadata:
    """Return where a record was written, as aiokafka describes it."""
    topic, partition, offset = metadata.topic, metadata.partition, metadata.offset
    if offset is None:
        offset = _UNKNOWN_OFFSET
    place = _place(topic, partition)
    # Without the checks of the class's constructor, which take longer than the rest.
    return _new(RecordMetadata, (topic, partition, place, offset, metadata.timestamp, 0, None))


class RecordFuture(_Future):
    """A future of one record, and its delivery callback."""

    __slots__ = ()

    def __call__(
        self, error: ottla_errors.KafkaError | None, metadata: ottla.RecordMetadata
    ) -> None:
        """Complete the future."""
        if error is not None:
            _fail(self, error)
        elif not self.done():
            self.set_result(record_metadata(metadata))


class UnacknowledgedFuture(_Future):
    """A future of one record that brokers do not acknowledge; it completes with None."""

    __slots__ = ()

    def __call__(
        self, error: ottla_errors.KafkaError | None, metadata: ottla.RecordMetadata
    ) -> None:
        """Complete the future."""
        del metadata
        if error is not None:
            _fail(self, error)
        elif not self.done():
            self.set_result(None)


class TransactionalFuture(RecordFuture):
    """A future of one record of a transaction, which learns of a fatal error."""

    __slots__ = ("transactions",)

    transactions: TransactionManager

    def __call__(
        self, error: ottla_errors.KafkaError | None, metadata: ottla.RecordMetadata
    ) -> None:
        """Complete the future."""
        if isinstance(error, ottla_errors.FencedError):
            self.transactions.fail(peer_error(error))
        super().__call__(error, metadata)


def batch_future(
    loop: asyncio.AbstractEventLoop,
    delivery: ottla.AsyncBatchDelivery,
    place: TopicPartition,
    transactions: TransactionManager,
    acknowledges: bool,
) -> asyncio.Future[RecordMetadata]:
    """Return a future of the first record's place in a batch.

    Args:
        loop: the loop of the future.
        delivery: the batch.
        place: its partition.
        transactions: learns of a fatal error.
        acknowledges: whether brokers acknowledge records; else the future completes with None.
    """
    future: asyncio.Future[Any] = loop.create_future()

    def complete(written: asyncio.Future[list[tuple[int, int | None, int]]]) -> None:
        error = written.exception()
        if isinstance(error, ottla_errors.KafkaError):
            if isinstance(error, ottla_errors.FencedError):
                transactions.fail(peer_error(error))
            _fail(future, error)
        elif not future.done():
            runs = written.result()
            offset = runs[0][1] if runs else None
            found = _UNKNOWN_OFFSET if offset is None else offset
            result = RecordMetadata(*place, place, found, -1, 0, None)
            future.set_result(result if acknowledges else None)

    delivery.written().add_done_callback(complete)
    return future


def _fail(future: asyncio.Future[Any], error: ottla_errors.KafkaError) -> None:
    if not future.done():
        converted = peer_error(error)
        converted.__cause__ = error
        future.set_exception(converted)
