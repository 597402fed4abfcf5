"""``AIOKafkaProducer`` over ``ottla.AsyncProducer``.

It takes aiokafka's arguments, and sends records; ``_lifecycle`` has the calls that start and stop
it, ``_batches`` those about batches that a program fills, ``_transactional`` those about
transactions. Invariants: ``send`` returns once the record is in its batch, and waits while the
buffer is nearly full. Each returned future completes with aiokafka's ``RecordMetadata``, or one of
its exceptions.
"""

from __future__ import annotations

import asyncio
import itertools
import warnings
from collections.abc import Callable, Sequence
from ssl import SSLContext
from typing import Any

import ottla
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._connection_options import warn_of_api_version
from ottla.compat.aiokafka._error_mapping import peer_error
from ottla.compat.aiokafka.abc import AbstractTokenProvider
from ottla.compat.aiokafka.client import AIOKafkaClient
from ottla.compat.aiokafka.errors import MessageSizeTooLargeError
from ottla.compat.aiokafka.partitioner import DefaultPartitioner
from ottla.compat.aiokafka.producer._batches import BatchProducer
from ottla.compat.aiokafka.producer._deliveries import (
    RecordFuture,
    TransactionalFuture,
    UnacknowledgedFuture,
    record_metadata,
)
from ottla.compat.aiokafka.producer._options import MISSING, Partitioner, ProducerOptions
from ottla.compat.aiokafka.producer.message_accumulator import record_size, serialized
from ottla.compat.aiokafka.producer.transaction_manager import TransactionManager
from ottla.compat.aiokafka.structs import RecordMetadata
from ottla.compat.aiokafka.util import get_running_loop

__all__ = ["AIOKafkaProducer"]

# Programs import this default from here.
_missing = MISSING

_DEFAULT_PARTITIONER = DefaultPartitioner()
# `send` waits while the unacknowledged records take more of the 32 MiB of the buffer.
_BUFFER_LIMIT = 24 * 1024 * 1024

_numbers = itertools.count(1)

Headers = Sequence[tuple[str, bytes]]


class AIOKafkaProducer(BatchProducer):
    """Writes records.

    Create it while its loop runs, ``await start()``, and ``await stop()`` at the end; ``async
    with`` does both. The arguments of all clients are described at ``AIOKafkaClient``.

    Args:
        acks: ``all``, 1 or 0: which replicas must have a record. Default: 1, or ``all`` with
            idempotence.
        key_serializer: a function from a key to bytes.
        value_serializer: the same for values.
        compression_type: ``gzip``, ``snappy``, ``lz4`` or ``zstd``. Default: none.
        max_batch_size: the size of a batch in bytes.
        partitioner: called with the key's bytes, all partitions and those with a leader. Default:
            by murmur2 of the key; at random without one.
        max_request_size: the largest record, and the largest request.
        linger_ms: milliseconds for which a batch waits for more records.
        enable_idempotence: whether brokers recognise retried batches.
        transactional_id: the name of this producer's transactions. Default: none.
        transaction_timeout_ms: milliseconds after which brokers abort an open transaction.
    """

    def __init__(
        self,
        *,
        loop: asyncio.AbstractEventLoop | None = None,
        bootstrap_servers: str | Sequence[str] = "localhost",
        client_id: str | None = None,
        metadata_max_age_ms: int = 300000,
        request_timeout_ms: int = 40000,
        api_version: str | None = None,
        acks: Any = _missing,
        key_serializer: Callable[[Any], Any] | None = None,
        value_serializer: Callable[[Any], Any] | None = None,
        compression_type: str | None = None,
        max_batch_size: int = 16384,
        partitioner: Partitioner = _DEFAULT_PARTITIONER,
        max_request_size: int = 1048576,
        linger_ms: int = 0,
        retry_backoff_ms: int = 100,
        security_protocol: str = "PLAINTEXT",
        ssl_context: SSLContext | None = None,
        connections_max_idle_ms: int | None = 540000,
        enable_idempotence: bool = False,
        transactional_id: str | None = None,
        transaction_timeout_ms: int = 60000,
        sasl_mechanism: str = "PLAIN",
        sasl_plain_password: str | None = None,
        sasl_plain_username: str | None = None,
        sasl_kerberos_service_name: str = "kafka",
        sasl_kerberos_domain_name: str | None = None,
        sasl_oauth_token_provider: AbstractTokenProvider | str | None = None,
    ) -> None:
        if loop is None:
            loop = get_running_loop()
        else:
            warnings.warn(
                "The loop argument has no use: omit it.", DeprecationWarning, stacklevel=2
            )
        self._loop = loop
        warn_of_api_version(api_version)
        self._options = ProducerOptions(
            acks=acks,
            compression_type=compression_type,
            max_batch_size=max_batch_size,
            partitioner=partitioner,
            max_request_size=max_request_size,
            linger_ms=linger_ms,
            enable_idempotence=enable_idempotence,
            transactional_id=transactional_id,
            transaction_timeout_ms=transaction_timeout_ms,
            request_timeout_ms=request_timeout_ms,
        )
        self.client = AIOKafkaClient(
            loop=loop,
            bootstrap_servers=bootstrap_servers,
            client_id=client_id or f"aiokafka-producer-{next(_numbers)}",
            metadata_max_age_ms=metadata_max_age_ms,
            request_timeout_ms=request_timeout_ms,
            retry_backoff_ms=retry_backoff_ms,
            ssl_context=ssl_context,
            security_protocol=security_protocol,
            connections_max_idle_ms=connections_max_idle_ms,
            sasl_mechanism=sasl_mechanism,
            sasl_plain_username=sasl_plain_username,
            sasl_plain_password=sasl_plain_password,
            sasl_kerberos_service_name=sasl_kerberos_service_name,
            sasl_kerberos_domain_name=sasl_kerberos_domain_name,
            sasl_oauth_token_provider=sasl_oauth_token_provider,
        )
        self._metadata = self.client.cluster
        self._key_serializer = key_serializer
        self._value_serializer = value_serializer
        self._max_request_size = max_request_size
        self._request_timeout = request_timeout_ms / 1000
        self._txn_manager = TransactionManager(transactional_id)
        self._is_transactional = transactional_id is not None
        self._acknowledges = self._options.acks != 0
        self._engine: ottla.AsyncProducer | None = None
        # The partitions of the topics that records were sent to.
        self._partitions: dict[str, set[int]] = {}
        self._closed = False

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Headers | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        """Put a record into its batch, and return a future of its acknowledgement.

        Args:
            topic: the topic.
            value: bytes, or what the serializer accepts; None for a tombstone.
            key: bytes, or what the serializer accepts.
            partition: the partition. Default: the partitioner chooses.
            timestamp_ms: milliseconds since 1970. Default: now.
            headers: pairs of a name and bytes.

        Raises:
            IllegalOperation: the producer is transactional, and no transaction is open.
            MessageSizeTooLargeError: the record is larger than ``max_request_size``.
            ProducerClosed: the producer was stopped.
            UnknownTopicOrPartitionError: the topic did not appear in time.
        """
        engine = self._started()
        if topic not in self._partitions:
            await self._find(topic)
        future = self._future()
        self._submit(engine, topic, value, key, partition, timestamp_ms, headers, future)
        if engine.buffered_bytes > _BUFFER_LIMIT:
            await asyncio.wait([future], timeout=self._request_timeout)
        return future

    async def send_and_wait(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Headers | None = None,
    ) -> RecordMetadata:
        """Send a record and wait for its acknowledgement; see ``send``."""
        if self._is_transactional or not self._acknowledges or type(self).send is not _send:
            future = await self.send(topic, value, key, partition, timestamp_ms, headers)
            return await future
        engine = self._started()
        if topic not in self._partitions:
            await self._find(topic)
        sent = self._submit(engine, topic, value, key, partition, timestamp_ms, headers, None)
        try:
            return record_metadata(await sent)
        except ottla_errors.KafkaError as error:
            raise peer_error(error) from error

    def _submit(
        self,
        engine: ottla.AsyncProducer,
        topic: str,
        value: Any,
        key: Any,
        partition: int | None,
        timestamp_ms: int | None,
        headers: Headers | None,
        on_delivery: Callable[..., None] | None,
    ) -> asyncio.Future[ottla.RecordMetadata]:
        """Pass a record of a known topic to the core."""
        if value is None and key is None:
            raise AssertionError("Need at least one: key or value")
        if self._is_transactional:
            self._txn_manager.require_transaction()
        key_bytes, value_bytes = self._serialize(key, value, headers)
        if partition is not None:
            self._check_partition(topic, partition)
        try:
            return engine.send(
                topic,
                value_bytes,
                key_bytes,
                headers=headers,
                timestamp=timestamp_ms,
                partition=partition,
                on_delivery=on_delivery,
            )
        except ottla_errors.KafkaError as error:
            raise peer_error(error) from error

    def _future(self) -> RecordFuture | UnacknowledgedFuture:
        if self._is_transactional:
            future = TransactionalFuture(loop=self._loop)
            future.transactions = self._txn_manager
            return future
        return (RecordFuture if self._acknowledges else UnacknowledgedFuture)(loop=self._loop)

    def _serialize(
        self, key: Any, value: Any, headers: Headers | None
    ) -> tuple[bytes | None, bytes | None]:
        key_bytes = serialized(self._key_serializer, key)
        value_bytes = serialized(self._value_serializer, value)
        size = len(key_bytes or b"") + len(value_bytes or b"")
        # The exact size is needed only near the limit.
        if headers or size > self._max_request_size // 2:
            size = record_size(key_bytes, value_bytes, headers or ())
        if size > self._max_request_size:
            raise MessageSizeTooLargeError(
                f"the record takes {size} bytes, more than max_request_size"
            )
        return key_bytes, value_bytes


# Instrumentation replaces `send` and expects its other half to call it.
_send = AIOKafkaProducer.send
