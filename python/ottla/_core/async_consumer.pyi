"""The operations of ``ottla.AsyncConsumer`` as native futures."""

from asyncio import Future
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import GenericAlias
from typing import Any, Generic

from typing_extensions import Self, TypeVar, Unpack, disjoint_base

from ottla._core.aliases import CommitCallback, DeserializerLike, OffsetsOrRecord, TopicPartition
from ottla._core.client import AsyncClient, Client
from ottla._core.cluster import Cluster, Partition
from ottla._core.column_format import ColumnFormat
from ottla._core.consumer_base import ConsumerBase
from ottla._core.consumer_call import ConsumerCall
from ottla._core.events import AsyncEvents
from ottla._core.offsets import OffsetAndMetadata, OffsetAndTimestamp
from ottla._core.records import Record, RecordBatch
from ottla.config_types import ConsumerConfig
from ottla.errors import KafkaError
from ottla.interceptors import ConsumerInterceptor

# Of a consumer: what its deserializers return. Its records have None for null.
_K = TypeVar("_K", covariant=True, default=bytes)
_V = TypeVar("_V", covariant=True, default=bytes)

@disjoint_base
class AsyncConsumerBase(ConsumerBase, Generic[_K, _V]):
    """The methods of ``AsyncConsumer`` that return native futures."""

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
        **kwargs: Unpack[ConsumerConfig],
    ) -> Self: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    def connect(self) -> Future[None]:
        """Connect to the cluster, unless it is connected already.

        ``async with`` and the first poll connect, too.

        Raises:
            AuthenticationError: the credentials, or the certificate of either side, were rejected.
            BootstrapError: no bootstrap server could be used; the message lists each with its
                cause.
        """

    def events(
        self, *, all_topics: bool = False, timeout: float | None = None
    ) -> Future[AsyncEvents]:
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

    def topic_names(self, *, timeout: float | None = None) -> Future[list[str]]:
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

    def position(self, topic: str, partition: int, *, timeout: float | None = None) -> Future[int]:
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
    ) -> Future[None]:
        """Commit offsets to the group; the future completes with the response.

        Commits are sent in the order of the calls, whether or not the future is awaited.

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
        """Commit offsets without a future. Commits are sent in the order of the calls.

        Args:
            offsets: as for ``commit``. Default: the positions at the time of the call.
            on_commit: a function or coroutine function. A later poll or ``close`` calls it with an
                error or None, and the offsets; cancelling that call cancels it. Without it, errors
                are logged.

        Raises:
            ConfigError: an offset is negative.
            StateError: 10,000 commits are in flight.
        """

    def client_instance_id(self, *, timeout: float | None = None) -> Future[str]:
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
    ) -> Future[dict[TopicPartition, OffsetAndMetadata | None]]:
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
    ) -> Future[dict[TopicPartition, OffsetAndTimestamp | None]]:
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
    ) -> Future[dict[TopicPartition, int]]:
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
    ) -> Future[dict[TopicPartition, int]]:
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

    def _lock_poll(self) -> None: ...
    def _unlock_poll(self) -> None: ...
    def _poll_records(
        self,
        timeout: float,
        max_records: int | None,
        partitions: Sequence[TopicPartition] | None,
    ) -> ConsumerCall: ...
    def _pop_records(
        self, max_records: int | None
    ) -> list[Record[_K | None, _V | None]] | None: ...
    def _pop_record(self) -> Record[_K | None, _V | None] | None: ...
    def _buffered_records(self) -> Iterator[Record[_K | None, _V | None]]: ...
    def _poll_batch(
        self,
        timeout: float,
        max_rows: int,
        columns: list[str] | None,
        include_headers: bool,
        key_format: ColumnFormat | None,
        value_format: ColumnFormat | None,
    ) -> ConsumerCall: ...
    def _pop_batch(self) -> RecordBatch | None: ...
    def _unsubscribe(self) -> ConsumerCall: ...
    def _next_commit_callback(
        self,
    ) -> (
        tuple[CommitCallback, KafkaError | None, dict[TopicPartition, OffsetAndMetadata]] | None
    ): ...
    def _start_closing(self, timeout: float) -> ConsumerCall | None: ...
    def _release(self) -> None: ...
