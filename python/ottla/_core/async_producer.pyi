"""The producer for asyncio."""

from asyncio import Future
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, final

from typing_extensions import Unpack

from ottla._core.aliases import DeliveryCallback, Headers, OffsetsOrRecord, SerializerLike
from ottla._core.client import AsyncClient, Client
from ottla._core.cluster import Partition
from ottla._core.column_format import ColumnFormat
from ottla._core.consumer_base import ConsumerBase
from ottla._core.delivery import AsyncBatchDelivery, RecordMetadata
from ottla._core.events import AsyncEvents
from ottla._core.group import GroupMetadata
from ottla._core.request_statistics import RequestStatistics
from ottla._core.transactions import PreparedTransaction
from ottla._internal.connections import Connections
from ottla._internal.metrics import ProducerMetrics, TopicMetrics
from ottla._internal.transactions import AsyncTransaction
from ottla.config_types import ProducerConfig
from ottla.interceptors import ProducerInterceptor

@final
class AsyncProducer:
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
            key: bytes, text or None; or what the serializer accepts.
            headers: pairs of a name and a value, or a mapping.
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
            values: a list, or Arrow data, as for ``Producer.send_batch``.
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
            A future of an ``AsyncBatchDelivery``.

        Raises:
            KafkaError: the call ended before its last record, as with
                ``Producer.send_batch``.
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
        """Get a producer id for ``transactional.id``; see ``Producer.init_transactions``.

        Cancelling the future ends the wait; call it again to wait for the same attempt.

        Args:
            timeout: seconds to wait. Default: ``max.block.ms``.
        """

    def begin_transaction(self) -> None:
        """Begin a transaction, without waiting; see ``Producer.begin_transaction``."""

    def send_offsets_to_transaction(
        self, offsets: OffsetsOrRecord | None, consumer: ConsumerBase | GroupMetadata
    ) -> Future[None]:
        """Commit a consumer's offsets together with the transaction.

        See ``Producer.send_offsets_to_transaction``.

        Args:
            offsets: as there.
            consumer: a ``Consumer`` or ``AsyncConsumer``, or its ``GroupMetadata``.
        """

    def commit_transaction(self, *, timeout: float | None = None) -> Future[None]:
        """Commit the transaction; see ``Producer.commit_transaction``.

        It waits for all records that were sent, awaited or not. Cancelling the future ends the
        wait; call it again to wait for the same outcome.

        Args:
            timeout: seconds to wait. Default: ``max.block.ms``.
        """

    def abort_transaction(self, *, timeout: float | None = None) -> Future[None]:
        """Abort the transaction; see ``Producer.abort_transaction``.

        Args:
            timeout: seconds to wait. Default: ``max.block.ms``.
        """

    def prepare_transaction(
        self, *, timeout: float | None = None
    ) -> Future[PreparedTransaction | None]:
        """Leave the end of the transaction to others; see ``Producer.prepare_transaction``.

        It waits for all records that were sent, awaited or not. Cancelling the future ends the
        wait; call it again to wait for the same records.

        Args:
            timeout: seconds to wait. Default: ``max.block.ms``.

        Returns:
            What others need to end it; None if nothing was written.
        """

    def transaction(self) -> AsyncTransaction:
        """Return a context manager for ``async with``; see ``Producer.transaction``."""

    def partitions_for(
        self, topic: str, *, timeout: float | None = None
    ) -> Future[dict[int, Partition]]:
        """Return the partitions of a topic by index.

        Args:
            topic: the topic's name. The topic is not created if it does not exist.
            timeout: seconds to wait. Default: ``default.api.timeout.ms``.

        Returns:
            A dict with the partition indexes, from 0 on, as keys.

        Raises:
            UnknownTopicError: the topic does not exist; reported within 5 s.
            TimeoutError: no broker has responded within ``timeout`` seconds.
        """

    def connections(self) -> Connections:
        """Return the state of each connection, by broker, without waiting.

        The connections of a shared client include those of its other users.
        """

    def events(
        self, *, all_topics: bool = False, timeout: float | None = None
    ) -> Future[AsyncEvents]:
        """Return an iterator of changes to the cluster and the connections, from now on.

        Args:
            all_topics: whether to include all topics, and not only those that this producer
                uses.
            timeout: seconds to look up the topics. Default: ``default.api.timeout.ms``.

        See ``AsyncClient.events``.
        """

    def metrics(self) -> ProducerMetrics:
        """Return the metrics of this producer and its client, by the Java client's names.

        ``ottla.ProducerMetrics`` describes them.
        """

    def request_statistics(self) -> RequestStatistics:
        """Return statistics of the client's requests: by API, the slowest, and retries.

        On a shared client, they include its other users.
        """

    def client_instance_id(self, *, timeout: float | None = None) -> Future[str]:
        """Return the id under which the cluster receives the metrics of this producer (KIP-714).

        Brokers that support client telemetry assign it to each producer and consumer.

        Args:
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            22 characters, as in the brokers' logs and in ``match`` of a subscription.

        Raises:
            ConfigError: ``enable.metrics.push`` is false.
            BrokerError: the brokers do not support client telemetry.
            TimeoutError: no broker has assigned an id in time.
        """

    def topic_metrics(self) -> dict[str, TopicMetrics]:
        """Return the metrics of each topic that this producer has sent to, by topic.

        ``ottla.TopicMetrics`` describes them.
        """

    @property
    def buffered_bytes(self) -> int:
        """The bytes of ``buffer.memory`` that hold unacknowledged records."""

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
