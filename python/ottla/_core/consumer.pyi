"""The blocking consumer."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import GenericAlias, TracebackType
from typing import Any, Generic, final

from typing_extensions import Self, TypeVar, Unpack

from ottla._core.aliases import CommitCallback, DeserializerLike, OffsetsOrRecord, TopicPartition
from ottla._core.client import AsyncClient, Client
from ottla._core.cluster import Cluster, Partition
from ottla._core.column_format import ColumnFormat
from ottla._core.consumer_base import ConsumerBase
from ottla._core.events import Events
from ottla._core.offsets import OffsetAndMetadata, OffsetAndTimestamp
from ottla._core.records import Record, RecordBatch
from ottla.config_types import ConsumerConfig
from ottla.interceptors import ConsumerInterceptor

# Of a consumer: what its deserializers return. Its records have None for null.
_K = TypeVar("_K", covariant=True, default=bytes)
_V = TypeVar("_V", covariant=True, default=bytes)

@final
class Consumer(ConsumerBase, Generic[_K, _V]):
    """A consumer: iterate over it or ``poll()`` it.

    Use it in a ``with`` block, or ``close()`` it. Iterating returns records without end; a record
    counts as consumed once it was returned. One thread polls or iterates at a time; any thread may
    call the other methods.

    A ``with`` block that ends with an exception, including Ctrl-C, commits nothing automatically:
    the records in processing are read again.

    Args:
        bootstrap: addresses as ``host:port``, or a ``Client`` or ``AsyncClient`` whose metadata to
            share; the consumer opens its own connections.
        config: configuration by Kafka's dotted names. Keyword arguments are the same names with
            underscores and take precedence. See ``Client``. ``partition_assignment_strategy``
            also takes objects: see ``ottla.assignors``.
        topics: topics to subscribe to, as with ``subscribe(topics)``. Default: none.
        key_deserializer: converts the bytes of keys; see ``ottla.deserializers``. Arrow columns
            keep the bytes. Default: keys stay bytes.
        value_deserializer: the same for values.
        interceptors: see what a poll returns, and may replace it, and are notified of commits; see
            ``ottla.interceptors``.
        timeout: seconds to find the cluster, as for ``Client``.
        connect: whether to connect now. Otherwise the first poll does, within its own timeout; what
            is not found then, later polls go on to look for.

    Raises:
        AuthenticationError: the credentials, or the certificate of either side, were rejected.
        BootstrapError: no bootstrap server could be used; the message lists each with its cause.
        ConfigError: a key or a value is invalid, or a client is combined with configuration.
    """

    def __new__(
        cls,
        bootstrap: str | Sequence[str] | Mapping[str, Any] | Client | AsyncClient | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        topics: Sequence[str] | None = None,
        key_deserializer: DeserializerLike[_K] | None = None,
        value_deserializer: DeserializerLike[_V] | None = None,
        interceptors: Iterable[ConsumerInterceptor] | None = None,
        timeout: float | None = None,
        connect: bool = True,
        **kwargs: Unpack[ConsumerConfig],
    ) -> Consumer[_K, _V]: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    def unsubscribe(self) -> None:
        """Give up all partitions, and leave the group; calls ``on_revoked`` first."""

    def poll(
        self,
        *,
        timeout: float = 1.0,
        max_records: int | None = None,
        partitions: Sequence[TopicPartition] | None = None,
    ) -> list[Record[_K | None, _V | None]]:
        """Return records as soon as there are any, or an empty list after the timeout.

        The positions move past the returned records.

        Args:
            timeout: seconds to wait. Default: 1.
            max_records: the maximum number of records. Default: ``max.poll.records``, 500.
                A list also ends after about 16 MB of records.
            partitions: return records of these partitions only, as pairs of a topic and a number.
                Records of others stay for later polls. Default: all.

        Raises:
            OffsetError: a partition has no valid position, and ``auto.offset.reset`` is ``none``.
            SerializationError: the next record cannot be deserialized. The position stays before
                it; ``seek`` past it to continue.
            StateError: there is no subscription or assignment, or another thread or task polls.
            WakeupError: ``wakeup()`` was called.
            ClosedError: the consumer was closed before or during the poll.
        """

    def poll_arrow(
        self,
        *,
        timeout: float = 1.0,
        max_rows: int = 50_000,
        columns: Sequence[str] | None = None,
        include_headers: bool = False,
        key_format: ColumnFormat | None = None,
        value_format: ColumnFormat | None = None,
    ) -> RecordBatch | None:
        """Return records as Arrow columns, or None after the timeout.

        The positions move past the returned records.

        Args:
            timeout: seconds to wait. Default: 1.
            max_rows: the maximum number of rows. A batch also ends after about 4 MB of keys, values
                and headers.
            columns: the columns, in this order: any of ``key``, ``value``, ``topic``,
                ``partition``, ``offset``, ``timestamp``, ``timestampType`` and ``headers``.
                Default: all but ``headers``.
            include_headers: whether to add ``headers`` to the default columns.
            key_format: how keys with a schema are decoded, such as ``ottla.schema.Avro(registry)``.
                Pass the same object each time. Default: keys stay bytes.
            value_format: the same for values.

        Raises:
            ConfigError: a column does not exist or is listed twice, or an interceptor has no
                ``on_consume_arrow``.
            SchemaError: there is no schema to read with, or it cannot be used.
            SerializationError: the next key or value cannot be decoded. The position stays before
                it; ``seek`` past it to continue.
            KafkaError: as for ``poll``, and the errors of the schema registry. No record is lost.
        """

    def __iter__(self) -> Iterator[Record[_K | None, _V | None]]: ...
    def __next__(self) -> Record[_K | None, _V | None]: ...
    def events(self, *, all_topics: bool = False, timeout: float | None = None) -> Events:
        """Subscribe to changes of the cluster and of the connections.

        While the returned object exists, metadata is refreshed every ``events.metadata.max.age.ms``
        (5 s), so that an idle client notices changes.

        Args:
            all_topics: whether to include all topics, new ones too, instead of only those that this
                consumer uses. Existing topics cause no events.
            timeout: seconds for looking up the topics. Default: ``default.api.timeout.ms``.

        Raises:
            TimeoutError: the cluster did not respond in time.
        """

    def topic_names(self, *, timeout: float | None = None) -> list[str]:
        """Return the names of all topics, internal ones included, in alphabetical order.

        Args:
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            TimeoutError: the cluster did not respond in time.
        """

    def cluster(
        self,
        topics: Sequence[str] | None = None,
        *,
        all_topics: bool = False,
        refresh: bool = False,
        timeout: float | None = None,
    ) -> Cluster:
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

    def partitions_for(self, topic: str, *, timeout: float | None = None) -> dict[int, Partition]:
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

    def position(self, topic: str, partition: int, *, timeout: float | None = None) -> int:
        """Return a partition's position, the offset of the next record, once it is known.

        Args:
            topic: the topic.
            partition: the partition.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            OffsetError: there is no committed offset, and ``auto.offset.reset`` is ``none``.
            StateError: the partition is not assigned.
            TimeoutError: the position was not determined in time.
        """

    def commit(
        self, offsets: OffsetsOrRecord | None = None, *, timeout: float | None = None
    ) -> None:
        """Commit offsets to the group, and wait for the response.

        Args:
            offsets: a record that was processed; or the offset of the next record to read, or an
                ``OffsetAndMetadata``, by ``(topic, partition)``. Default: the positions of all
                assigned partitions at the time of the call.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            AuthorizationError: the principal may not commit for the group or a topic.
            CommitFailedError: the group is rebalancing or removed this member; other members may
                own its partitions.
            ConfigError: there is no ``group.id``, or an offset is negative.
            TimeoutError: the group's coordinator did not respond in time.
        """

    def commit_async(
        self, offsets: OffsetsOrRecord | None = None, on_commit: CommitCallback | None = None
    ) -> None:
        """Commit offsets without waiting. Commits are sent in the order of the calls.

        Args:
            offsets: as for ``commit``. Default: the positions at the time of the call.
            on_commit: a callback that a later poll, commit or close calls with an error or None,
                and the offsets. Without it, errors are logged.

        Raises:
            ConfigError: an offset is negative.
            StateError: 10,000 commits are in flight.
        """

    def client_instance_id(self, *, timeout: float | None = None) -> str:
        """Return the id under which the cluster receives the metrics of this consumer (KIP-714).

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

    def committed(
        self, *partitions: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the offsets that the group has committed.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The offsets by ``(topic, partition)``; None for a partition without one.

        Raises:
            AuthorizationError: the principal may not read the group's offsets.
            ConfigError: there is no ``group.id``.
            TimeoutError: the group's coordinator did not respond in time.
        """

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int | datetime], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Look up the first record at or after a timestamp, by partition.

        Args:
            timestamps: milliseconds since 1970 or an aware ``datetime``, by ``(topic, partition)``.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            Offset and timestamp by ``(topic, partition)``; None if all records are older.

        Raises:
            UnknownTopicError: a topic or a partition does not exist.
            TimeoutError: a leader did not respond in time.
        """

    def beginning_offsets(
        self, *partitions: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Look up the first offset of partitions.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            UnknownTopicError: a topic or a partition does not exist.
            TimeoutError: a leader did not respond in time.
        """

    def end_offsets(
        self,
        *partitions: TopicPartition,
        isolation_level: str | None = None,
        timeout: float | None = None,
    ) -> dict[TopicPartition, int]:
        """Look up the end offset of partitions: the offset of the next record to be written.

        With ``read_committed`` it is the last stable offset, else the high watermark.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.
            isolation_level: ``read_committed`` or ``read_uncommitted``. Default:
                ``isolation.level``.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            UnknownTopicError: a topic or a partition does not exist.
            TimeoutError: a leader did not respond in time.
        """

    def close(self, *, timeout: float = 30.0) -> None:
        """Leave the group, and close the consumer.

        It first commits the positions (with ``enable.auto.commit``) and calls ``on_revoked``. A
        poll in progress ends with ``ClosedError``. Closing a closed consumer has no effect. In
        blocking code a signal handler may call it, also while this thread polls: the poll ends
        after the handler with its exception, or else with ``ClosedError``.

        Args:
            timeout: seconds for all of this. Default: 30.

        Raises:
            TimeoutError: the group's coordinator did not respond in time; the consumer is closed.
            StateError: a callback of this consumer called it.
        """

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
