"""Acknowledgements of the core as futures of aiokafka's ``RecordMetadata``.

Invariant: a future completes once, on its loop; one that the application has cancelled stays so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import ottla
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._error_mapping import peer_error
from ottla.compat.aiokafka.producer.transaction_manager import TransactionManager
from ottla.compat.aiokafka.structs import RecordMetadata, TopicPartition

__all__ = ["batch_future", "record_future"]

_UNKNOWN_OFFSET = -1

Report = Callable[[ottla_errors.KafkaError | None, ottla.RecordMetadata], None]


def record_future(
    loop: asyncio.AbstractEventLoop, transactions: TransactionManager, acknowledges: bool
) -> tuple[asyncio.Future[RecordMetadata], Report]:
    """Return a future of one record, and the delivery callback that completes it.

    Args:
        loop: the loop of the future.
        transactions: learns of a fatal error.
        acknowledges: whether brokers acknowledge records; else the future completes with None.
    """
    future: asyncio.Future[Any] = loop.create_future()

    def report(error: ottla_errors.KafkaError | None, metadata: ottla.RecordMetadata) -> None:
        if error is not None:
            _fail(future, error, transactions)
        elif not future.done():
            future.set_result(_metadata(metadata) if acknowledges else None)

    return future, report


def batch_future(
    loop: asyncio.AbstractEventLoop,
    delivery: ottla.AsyncBatchDelivery,
    place: TopicPartition,
    transactions: TransactionManager,
    acknowledges: bool,
) -> asyncio.Future[RecordMetadata]:
    """Return a future of the first record's place in a batch; see ``record_future``."""
    future: asyncio.Future[Any] = loop.create_future()

    def complete(written: asyncio.Future[list[tuple[int, int | None, int]]]) -> None:
        error = written.exception()
        if isinstance(error, ottla_errors.KafkaError):
            _fail(future, error, transactions)
        elif not future.done():
            runs = written.result()
            offset = runs[0][1] if runs else None
            found = _UNKNOWN_OFFSET if offset is None else offset
            result = RecordMetadata(*place, place, found, -1, 0, None)
            future.set_result(result if acknowledges else None)

    delivery.written().add_done_callback(complete)
    return future


def _fail(
    future: asyncio.Future[Any], error: ottla_errors.KafkaError, transactions: TransactionManager
) -> None:
    converted = peer_error(error)
    converted.__cause__ = error
    if isinstance(error, ottla_errors.FencedError):
        transactions.fail(converted)
    if not future.done():
        future.set_exception(converted)


def _metadata(metadata: ottla.RecordMetadata) -> RecordMetadata:
    topic, partition, offset = metadata.topic, metadata.partition, metadata.offset
    return RecordMetadata(
        topic,
        partition,
        TopicPartition(topic, partition),
        _UNKNOWN_OFFSET if offset is None else offset,
        metadata.timestamp,
        0,
        None,
    )
