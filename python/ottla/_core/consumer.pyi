"""The blocking consumer."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import GenericAlias, TracebackType
from typing import Any, Generic, final

from typing_extensions import Self, TypeVar, Unpack

from ottla._core.aliases import CommitCallback, DeserializerLike, OffsetsOrRecord, TopicPartition
from ottla._core.client import AsyncClient, Client
from ottla._core.cluster import Partition
from ottla._core.consumer_base import ConsumerBase
from ottla._core.events import Events
from ottla._core.offsets import OffsetAndMetadata, OffsetAndTimestamp
from ottla._core.records import Record, RecordBatch
from ottla.config_types import ConsumerConfig

# Of a consumer: what its deserializers return. Its records have None for null.
_K = TypeVar("_K", covariant=True, default=bytes)
_V = TypeVar("_V", covariant=True, default=bytes)

@final
class Consumer(ConsumerBase, Generic[_K, _V]):
    """A consumer. Iterate over it, or poll; use it in a ``with`` block, or ``close()`` it.

    Iterating returns record after record, without end; a record counts as consumed once it was
    returned. One thread polls or iterates at a time; any thread may call the other methods.

    A ``with`` block that ends with an exception, Ctrl-C included, commits nothing automatically:
    the records that were being processed are read again.

    Args:
        bootstrap: addresses as ``host:port``, or a ``Client`` or ``AsyncClient`` whose metadata it
            shares; it makes its own connections.
        config: configuration by Kafka's dotted names; keyword arguments are the same names with
            underscores, and win. See ``Client``. ``partition_assignment_strategy`` also takes
            objects: see ``ottla.assignors``.
        topics: topics to subscribe to at once, as ``subscribe(topics)`` does.
        key_deserializer: turns the bytes of keys into objects: see ``ottla.deserializers``. Arrow
            columns keep the bytes.
        value_deserializer: the same for values.
        timeout: seconds in which the cluster must be found, as for ``Client``.

    Raises:
        AuthenticationError: the credentials, or the certificate of either side, were rejected.
        BootstrapError: no bootstrap server could be used; the message lists each with its cause.
        ConfigError: a key or a value is wrong, or a client was given together with configuration.
    """

    def __new__(
        cls,
        bootstrap: str | Sequence[str] | Mapping[str, Any] | Client | AsyncClient | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        topics: Sequence[str] | None = None,
        key_deserializer: DeserializerLike[_K] | None = None,
        value_deserializer: DeserializerLike[_V] | None = None,
        timeout: float | None = None,
        **kwargs: Unpack[ConsumerConfig],
    ) -> Consumer[_K, _V]: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    def unsubscribe(self) -> None:
        """Give up all partitions, and leave the group. ``on_revoked`` is called before."""

    def poll(
        self, timeout: float = 1.0, max_records: int | None = None
    ) -> list[Record[_K | None, _V | None]]:
        """Return records as soon as there are any; an empty list if there are none in time.

        The position moves past the records at once.

        Args:
            timeout: seconds to wait.
            max_records: the maximum number of records. Default: ``max.poll.records``, 500.

        Raises:
            OffsetError: a partition has no position, and ``auto.offset.reset`` is ``none``.
            SerializationError: the next record cannot be deserialized. The position stays before
                it; ``seek`` past it to continue.
            StateError: nothing is subscribed to or assigned, or another thread polls.
            WakeupError: ``wakeup()`` was called.
            ClosedError: the consumer was closed, before or while it polled.
        """

    def poll_arrow(
        self,
        timeout: float = 1.0,
        max_rows: int = 50_000,
        columns: Sequence[str] | None = None,
        include_headers: bool = False,
    ) -> RecordBatch | None:
        """Return records as Arrow columns, or None if there are none in time.

        The position moves past the records at once.

        Args:
            timeout: seconds to wait.
            max_rows: the maximum number of rows. About 4 MB of keys, values and headers end a
                batch, too.
            columns: the columns, in that order: any of ``key``, ``value``, ``topic``,
                ``partition``, ``offset``, ``timestamp``, ``timestampType`` and ``headers``.
                Default: all but ``headers``.
            include_headers: whether to add ``headers`` to the default columns.

        Raises:
            ConfigError: a column does not exist, or is named twice.
            KafkaError: as from ``poll``, except ``SerializationError``: columns have the bytes.
        """

    def __iter__(self) -> Iterator[Record[_K | None, _V | None]]: ...
    def __next__(self) -> Record[_K | None, _V | None]: ...
    def events(self, *, all_topics: bool = False, timeout: float | None = None) -> Events:
        """Return the changes of the cluster and of the connections, from now on.

        Args:
            all_topics: whether to include all topics, instead of those that this consumer uses.
            timeout: seconds for looking up the topics. Default: ``default.api.timeout.ms``.

        See ``Client.events``.
        """

    def list_topics(self, *, timeout: float | None = None) -> list[str]:
        """Return the names of all topics, internal ones included, in order.

        Args:
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            TimeoutError: no broker has answered in time.
        """

    def partitions_for(self, topic: str, *, timeout: float | None = None) -> dict[int, Partition]:
        """Return the partitions of a topic by index.

        Args:
            topic: the topic's name. It is not made if it does not exist.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            A dict whose keys are the partitions' numbers, from 0 on.

        Raises:
            UnknownTopicError: the topic does not exist; known within 5 s.
            TimeoutError: no broker has answered in time.
        """

    def position(self, topic: str, partition: int, *, timeout: float | None = None) -> int:
        """Return the offset of the next record, and wait until it is known.

        Args:
            topic: the topic.
            partition: the partition.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            OffsetError: there is no committed offset, and ``auto.offset.reset`` is ``none``.
            StateError: the partition is not assigned.
            TimeoutError: the position is not known in time.
        """

    def commit(
        self, offsets: OffsetsOrRecord | None = None, *, timeout: float | None = None
    ) -> None:
        """Commit offsets to the group, and wait for the response.

        Args:
            offsets: the offset of the next record to read, or an ``OffsetAndMetadata``, by
                ``(topic, partition)``. Default: the positions of all assigned partitions.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            AuthorizationError: the principal may not commit for the group or a topic.
            CommitFailedError: the group is rebalancing, or has removed this member; other members
                may have its partitions.
            ConfigError: there is no ``group.id``, or an offset is negative.
            TimeoutError: the group's coordinator did not respond in time.
        """

    def commit_async(
        self, offsets: OffsetsOrRecord | None = None, on_commit: CommitCallback | None = None
    ) -> None:
        """Commit offsets without waiting. Commits are sent in the order of the calls.

        Args:
            offsets: as for ``commit``; by default the positions at the time of the call.
            on_commit: called with an error or None, and the offsets, inside a later poll, commit or
                close. Without it, errors are logged.

        Raises:
            ConfigError: an offset is negative.
            StateError: 10,000 commits are under way.
        """

    def committed(
        self, *partitions: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the offsets that the group has committed.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The offsets by ``(topic, partition)``; None where nothing is committed.

        Raises:
            AuthorizationError: the principal may not read the group's offsets.
            ConfigError: there is no ``group.id``.
            TimeoutError: the group's coordinator did not respond in time.
        """

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int | datetime], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first record of each partition that is not older than a time.

        Args:
            timestamps: milliseconds since 1970, by ``(topic, partition)``.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            Offset and timestamp by ``(topic, partition)``; None where all records are older.

        Raises:
            UnknownTopicError: a topic or a partition does not exist.
            TimeoutError: a leader did not respond in time.
        """

    def beginning_offsets(
        self, *partitions: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the first offset of partitions.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            UnknownTopicError: a topic or a partition does not exist.
            TimeoutError: a leader did not respond in time.
        """

    def end_offsets(
        self, *partitions: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the end offset of partitions: the offset of the next record that is written.

        With ``isolation.level=read_committed`` it is the last stable offset.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            UnknownTopicError: a topic or a partition does not exist.
            TimeoutError: a leader did not respond in time.
        """

    def close(self, timeout: float = 30.0) -> None:
        """Leave the group, and close the consumer.

        With ``enable.auto.commit`` it commits the positions before. ``on_revoked`` is called before
        the partitions are given up. A poll in another thread ends with ``ClosedError``. Closing a
        consumer again has no effect.

        Args:
            timeout: seconds for all of it.

        Raises:
            TimeoutError: the group's coordinator did not respond in time; the consumer is closed.
            StateError: a callback of this consumer calls it.
        """

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
