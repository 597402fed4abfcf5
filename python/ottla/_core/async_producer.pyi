"""The producer for asyncio."""

from asyncio import Future
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, final

from typing_extensions import Unpack

from ottla._core.aliases import DeliveryCallback, Headers, OffsetsOrRecord, SerializerLike
from ottla._core.client import AsyncClient, Client
from ottla._core.cluster import Cluster, Partition
from ottla._core.column_format import ColumnFormat
from ottla._core.consumer_base import ConsumerBase
from ottla._core.delivery import AsyncBatchDelivery, RecordMetadata
from ottla._core.events import AsyncEvents
from ottla._core.group import GroupMetadata
from ottla._core.producer_base import ProducerBase
from ottla._core.transactions import PreparedTransaction
from ottla._internal.transactions import AsyncTransaction
from ottla.config_types import ProducerConfig
from ottla.interceptors import ProducerInterceptor

@final
class AsyncProducer(ProducerBase):
    """A Kafka producer for asyncio; it mirrors ``Producer``.

    Methods that block there return a future of the running loop here, and no thread waits
    for it. The futures of a batch complete together, so thousands of concurrent ``send``
    calls are cheap. A producer may be used from several loops.

    Creating a producer does not connect: ``async with``, ``connect()`` or the first
    record does. At its end, an ``async with`` block closes the producer, and raises the
    first failure of a record that was not awaited.

    Args:
        bootstrap: addresses as ``host:port``, or a ``Client`` or ``AsyncClient`` whose
            connections it shares.
        config: configuration by Kafka's dotted names. Keyword arguments are the same
            names with underscores, and take precedence. See ``Client``.
        timeout: seconds in which ``connect()`` must find the cluster; until then it
            retries servers that fail. Default: ``default.api.timeout.ms``, 60 s.
        key_serializer: as for ``Producer``; called on the loop's thread.
        value_serializer: as for ``Producer``; called on the loop's thread.
        interceptors: as for ``Producer``; called on the loop's thread.
        partitioner: as for ``Producer``; called on the loop's thread.

    Raises:
        ConfigError: a key or a value is invalid, or both a client and configuration were
            passed.
    """

    def __new__(
        cls,
        bootstrap: str | Sequence[str] | Mapping[str, Any] | Client | AsyncClient | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        key_serializer: SerializerLike | None = None,
        value_serializer: SerializerLike | None = None,
        interceptors: Iterable[ProducerInterceptor] | None = None,
        **kwargs: Unpack[ProducerConfig],
    ) -> AsyncProducer: ...
    def connect(self) -> Future[None]:
        """Find the cluster, unless it was found before.

        Raises:
            AuthenticationError: the credentials, or the certificate of either side, were
                rejected.
            BootstrapError: no bootstrap server was usable; the message lists each with its
                cause.
        """

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        *,
        headers: Headers | None = None,
        timestamp: int | datetime | None = None,
        partition: int | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> Future[RecordMetadata]:
        """Send a record; the future completes when it is acknowledged or failed.

        The record is in its batch when the call returns, unless its topic has to be looked up
        or the buffer is full. In that case it waits for up to ``max.block.ms``, and later
        records of the topic wait behind it. Cancelling the future affects this record alone:
        a waiting record is not sent, but a record in a batch may still be written.

        Args:
            topic: the topic.
            value: bytes, text (sent as UTF-8), or None for a tombstone; or what the
                serializer accepts.
            key: bytes, text or None; or what the serializer accepts. Records with the same
                key go to the same partition.
            headers: pairs of a name and a value, or a mapping; a name may occur more than
                once.
            timestamp: milliseconds since 1970, or a ``datetime``. Default: now.
            partition: the partition. Default: the partitioner chooses.
            on_delivery: called once with an error or None and the record's metadata, on the
                loop's thread. It is also called for a record that fails while it waits
                (``partition`` is -1 if none was chosen), but not for one that is cancelled
                while it waits. Its exception goes to the loop's exception handler. With it,
                the future need not be awaited.

        Returns:
            A future of the record's metadata.

        Raises:
            TypeError: the key, the value or a header has a wrong type; nothing is sent.
            SerializationError: a serializer failed; nothing is sent.
            UnknownTopicError: the topic did not appear within ``max.block.ms``.
            TimeoutError: the buffer stayed full for ``max.block.ms``, or the record was not
                acknowledged within ``delivery.timeout.ms``.
            RecordTooLargeError: the record is larger than ``max.request.size`` or the topic's
                ``max.message.bytes``.
            KafkaError: the record failed; ``maybe_done`` says whether it may have been
                written.
        """

    def send_batch(
        self,
        topic: str,
        values: Any,
        keys: Any = None,
        *,
        headers: Sequence[Headers | None] | None = None,
        timestamps: Sequence[int | datetime | None] | None = None,
        partitions: Sequence[int | None] | None = None,
        key_format: ColumnFormat | None = None,
        value_format: ColumnFormat | None = None,
    ) -> Future[AsyncBatchDelivery]:
        """Add many records to their batches; the future completes when all are there.

        Rows are encoded outside the loop's thread. If the order of records matters, await
        each call before the next one, and before ``send``. Cancelling the future ends the
        call between two rows.

        Args:
            topic: the topic.
            values: a list of bytes, text or None; or Arrow data: an array of values, or a
                batch or table with the column ``value`` and optionally ``key``, ``headers``,
                ``timestamp`` and ``partition``.
            keys: a list, or an Arrow array, as long as the values.
            headers: the headers of each record of a list.
            timestamps: the timestamp of each record of a list.
            partitions: the partition of each record of a list.
            key_format: how a typed column of keys is encoded, such as
                ``ottla.schema.Avro(registry)``. Default: the producer's serializer, if it is such a
                format.
            value_format: the same for values. A table without a column ``value`` is then itself the
                values.

        Returns:
            A future of all records: a ``BatchDelivery`` or an ``AsyncBatchDelivery``. It reports
            records that are too large as failed.

        Raises:
            TypeError: a value or a key has a wrong type; nothing is sent.
            SerializationError: a row cannot be encoded; nothing is sent.
            UnknownTopicError: the topic did not appear within ``max.block.ms``.
            TimeoutError: the buffer stayed full for ``max.block.ms``.
            KafkaError: if the call ends before its last record, ``delivery`` holds the
                accepted records, and ``context["index"]`` is the index of the first record to
                send again.
        """

    def flush(self, *, timeout: float | None = None) -> Future[None]:
        """Send all buffered records; the future completes when all are acknowledged or failed.

        Failures are raised by each record's future and not here.

        Args:
            timeout: seconds to wait. Default: ``max.block.ms`` plus ``delivery.timeout.ms``
                plus 5 s.

        Raises:
            TimeoutError: records are still pending after ``timeout`` seconds.
        """

    def init_transactions(self, *, timeout: float | None = None) -> Future[None]:
        """Get a producer id for ``transactional.id``; call it once, before the first transaction.

        It fences older producers with the same id, and ends the transactions that they left open.
        Interrupting or cancelling the call ends the wait alone; call it again to wait for the same
        attempt.

        Args:
            timeout: seconds to wait. Default: ``max.block.ms``.

        Raises:
            AuthorizationError: the principal may not use the id; close the producer.
            BrokerError: ``transaction.timeout.ms`` is above the brokers' maximum, or another fatal
                error; close the producer.
            ConfigError: ``transactional.id`` is not set.
            StateError: the producer is initialized.
            TimeoutError: call it again to wait for the same attempt.
        """

    def send_offsets_to_transaction(
        self, offsets: OffsetsOrRecord | None, consumer: ConsumerBase | GroupMetadata
    ) -> Future[None]:
        """Commit a consumer's offsets together with the transaction.

        The group checks that the consumer still owns its partitions (KIP-447). Set the consumer's
        ``enable.auto.commit`` to false.

        Args:
            offsets: a record that was processed; or the offset of the next record to read, or an
                ``OffsetAndMetadata``, by ``(topic, partition)``; None for the positions of all
                assigned partitions.
            consumer: the consumer, or its ``GroupMetadata`` if it is in another process.

        Raises:
            CommitFailedError: the consumer has lost its place in the group; abort.
            ConfigError: the consumer has no group, or commits automatically.
            FencedError: a newer producer with the same id has taken over; close this one.
            StateError: no transaction is open.
            TransactionAbortableError: the offsets were not added; abort.
        """

    def commit_transaction(self, *, timeout: float | None = None) -> Future[None]:
        """Commit the transaction: its records and offsets become visible together.

        It waits until all records of the transaction are acknowledged. Interrupting or cancelling
        the call ends the wait alone; call it again to wait for the same outcome.

        Args:
            timeout: seconds to wait. Default: ``max.block.ms``.

        Raises:
            FencedError: a newer producer with the same id has taken over, or the transaction was
                open for longer than ``transaction.timeout.ms``; close the producer. ``maybe_done``
                says whether the transaction may have been committed.
            StateError: no transaction is open.
            TimeoutError: the commit continues; call it again to wait for its outcome.
            TransactionAbortableError: nothing was committed; abort.
        """

    def abort_transaction(self, *, timeout: float | None = None) -> Future[None]:
        """Abort the transaction: none of its records and offsets becomes visible.

        Records that were not sent yet fail with ``TransactionAbortedError``. Interrupting or
        cancelling the call ends the wait alone; call it again to wait for the same outcome.

        Args:
            timeout: seconds to wait. Default: ``max.block.ms``.

        Raises:
            FencedError: a newer producer with the same id has taken over; close this one.
            StateError: no transaction is open.
            TimeoutError: the abort continues; call it again to wait for it.
        """

    def prepare_transaction(
        self, *, timeout: float | None = None
    ) -> Future[PreparedTransaction | None]:
        """Wait until every record of the transaction is acknowledged, and leave its end to others.

        Any process can end it with ``Admin.end_prepared_transactions``; closing this producer does
        not abort it. The brokers abort it after ``transaction.timeout.ms``. Interrupting or
        cancelling the call ends the wait alone; call it again to wait for the same records.

        Args:
            timeout: seconds to wait. Default: ``max.block.ms``.

        Returns:
            What others need to end it; None if nothing was written.

        Raises:
            FencedError: a newer producer with the same id has taken over; close this one.
            StateError: no transaction is open.
            TimeoutError: call it again to wait for the same records, or abort.
            TransactionAbortableError: a record failed; abort.
        """

    def transaction(self) -> AsyncTransaction:
        """Return a context manager for one transaction.

        Its block begins the transaction and commits it at its end; an exception in the block aborts
        it and is raised. If the commit fails, the transaction is aborted, and the error is raised.
        """

    def purge(self, *, queued: bool = True, in_flight: bool = False) -> int:
        """Give up records that are not acknowledged: they fail with ``PurgedError``.

        A transaction with such records can only be aborted.

        Args:
            queued: whether to give up records that wait to be sent.
            in_flight: whether to give up records that are being sent; they may be written all the
                same, and ``maybe_done`` of their errors is true.

        Returns:
            The number of records.
        """

    @property
    def unacknowledged_records(self) -> int:
        """The number of records that were accepted, and are neither acknowledged nor failed."""

    def cluster(
        self,
        topics: Sequence[str] | None = None,
        *,
        all_topics: bool = False,
        refresh: bool = False,
        timeout: float | None = None,
    ) -> Future[Cluster]:
        """Return a snapshot of the cluster's metadata.

        Args:
            topics: topics that the snapshot must contain. Unknown topics are looked up, and
                refreshed until they were unused for ``metadata.max.idle.ms`` (5 minutes).
            all_topics: whether to look up all topics of the cluster, for this call only.
            refresh: whether to request new metadata even if everything is cached.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            UnknownTopicError: a topic does not exist.
            TimeoutError: the cluster did not respond in time.
        """

    def partitions_for(
        self, topic: str, *, timeout: float | None = None
    ) -> Future[dict[int, Partition]]:
        """Return the partitions of a topic, by number.

        Args:
            topic: the topic's name. A topic that does not exist is not created.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            A dict whose keys are the partitions' numbers, starting at 0.

        Raises:
            UnknownTopicError: the topic does not exist; raised within 5 s.
            TimeoutError: no broker responded in time.
        """

    def events(
        self, *, all_topics: bool = False, timeout: float | None = None
    ) -> Future[AsyncEvents]:
        """Subscribe to changes of the cluster and of the connections.

        While the returned object exists, metadata is refreshed every ``events.metadata.max.age.ms``
        (5 s), so that an idle client notices changes.

        Args:
            all_topics: whether to include all topics, new ones too, instead of only those that this
                producer uses. Existing topics cause no events.
            timeout: seconds for looking up the topics. Default: ``default.api.timeout.ms``.

        Raises:
            TimeoutError: the cluster did not respond in time.
        """

    def client_instance_id(self, *, timeout: float | None = None) -> Future[str]:
        """Return the id under which the cluster receives the metrics of this producer (KIP-714).

        Brokers that support client telemetry assign it. A client without producers and consumers
        pushes its metrics from this call on.

        Args:
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            22 characters, as in the brokers' logs and in ``match`` of a subscription.

        Raises:
            ConfigError: ``enable.metrics.push`` is false.
            BrokerError: the brokers do not support client telemetry.
            TimeoutError: no broker has assigned an id in time.
        """

    def close(self, *, timeout: float | None = None) -> Future[None]:
        """Send all buffered records, wait until they are acknowledged, and close the producer.

        Records that are not acknowledged within ``timeout`` seconds fail. Cancelling the
        future ends the wait, but the producer still closes.

        Args:
            timeout: seconds to wait. Default: 30.

        Raises:
            TimeoutError: records were not acknowledged within ``timeout`` seconds.
        """

    def __aenter__(self) -> Future[AsyncProducer]: ...
    def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Future[None]: ...
