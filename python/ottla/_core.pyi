"""The Rust core. What users import comes from ``ottla``; the docstrings are here."""

import re
from asyncio import Future
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import GenericAlias, TracebackType
from typing import Any, Generic, Literal, TypeAlias, final

from typing_extensions import Self, TypeVar, Unpack, disjoint_base

from ottla.config_types import ClientConfig, CommonConfig, ConsumerConfig, ProducerConfig
from ottla.deserializers import Deserializer
from ottla.errors import KafkaError
from ottla.interceptors import ProducerInterceptor
from ottla.metrics import Metrics, ProducerMetrics, TopicMetrics
from ottla.serializers import Serializer

__all__ = [
    "Admin",
    "Array",
    "AsyncBatchDelivery",
    "AsyncClient",
    "AsyncConsumerBase",
    "AsyncEvents",
    "AsyncProducer",
    "BatchDelivery",
    "Broker",
    "Client",
    "Cluster",
    "ConnectionStatus",
    "Consumer",
    "ConsumerBase",
    "Delivery",
    "DeliveryReports",
    "Event",
    "Events",
    "GroupMetadata",
    "LogEvents",
    "MemberSubscription",
    "MockCluster",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "Partition",
    "Producer",
    "RebalanceChange",
    "Record",
    "RecordBatch",
    "RecordMetadata",
    "Scan",
    "Topic",
    "__version__",
    "config_row_of",
    "config_rows",
    "examine",
    "foreign_config_rows",
    "partition_for_key",
    "partitions_for_keys",
]

__version__: str

_Bytes: TypeAlias = bytes | bytearray | memoryview | str
_Serializer: TypeAlias = Serializer | Callable[[Any], bytes | str | None]
_OnDelivery: TypeAlias = Callable[[KafkaError | None, RecordMetadata], object]
_Headers: TypeAlias = Sequence[tuple[str | bytes, _Bytes | None]] | Mapping[str, _Bytes | None]

# Of a record: what its key and value are, None included.
_Key = TypeVar("_Key", covariant=True, default=bytes | None)
_Value = TypeVar("_Value", covariant=True, default=bytes | None)
# Of a consumer: what its deserializers make; its records have None where there is nothing.
_K = TypeVar("_K", covariant=True, default=bytes)
_V = TypeVar("_V", covariant=True, default=bytes)
_T = TypeVar("_T")
_Deserializer: TypeAlias = Deserializer[_T] | Callable[[bytes], _T]

_Partition: TypeAlias = tuple[str, int]
_Offsets: TypeAlias = Mapping[_Partition, int | OffsetAndMetadata]
_Commit: TypeAlias = _Offsets | Record[Any, Any]
_OnPartitions: TypeAlias = Callable[[Any, list[_Partition]], object]
_OnCommit: TypeAlias = Callable[[KafkaError | None, dict[_Partition, OffsetAndMetadata]], object]

@final
class Array:
    """An Arrow array that any Arrow library takes over without a copy: ``pyarrow.array(array)``.

    It implements Arrow's PyCapsule interface (``__arrow_c_array__``); ``len()`` is its length.
    """

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

@final
class Broker:
    """A broker of the cluster, as the metadata describes it."""

    @property
    def id(self) -> int:
        """The broker's id (``node.id``)."""
    @property
    def host(self) -> str:
        """The host name or address that the broker advertises to clients."""
    @property
    def port(self) -> int:
        """The port that the broker advertises to clients."""
    @property
    def rack(self) -> str | None:
        """The broker's rack (``broker.rack``); None if it has none."""

@final
class Partition:
    """A partition of a topic: its leader, its replicas and their state."""

    @property
    def index(self) -> int:
        """The partition's number in its topic, from 0."""
    @property
    def leader(self) -> int | None:
        """The id of the broker that leads the partition; None while there is no leader."""
    @property
    def leader_epoch(self) -> int:
        """The leader epoch (KIP-320), which grows with each change of the leader; -1 if unknown."""
    @property
    def replicas(self) -> list[int]:
        """The ids of the brokers that have a replica, the preferred leader first."""
    @property
    def isr(self) -> list[int]:
        """The ids of the brokers whose replicas are in sync."""
    @property
    def offline_replicas(self) -> list[int]:
        """The ids of the brokers whose replicas are offline."""
    @property
    def error(self) -> str | None:
        """Kafka's name of the partition's error, as ``LEADER_NOT_AVAILABLE``, or None."""

@final
class Topic:
    """A topic and its partitions."""

    @property
    def name(self) -> str:
        """The topic's name."""
    @property
    def id(self) -> str | None:
        """The topic's id (KIP-516) as text; None if the brokers do not give ids."""
    @property
    def internal(self) -> bool:
        """Whether the topic is Kafka's own, such as ``__consumer_offsets``."""
    @property
    def error(self) -> str | None:
        """Kafka's name of the topic's error, as ``UNKNOWN_TOPIC_OR_PARTITION``, or None."""
    @property
    def partitions(self) -> dict[int, Partition]:
        """The topic's partitions by number, in a new dict."""

@final
class Cluster:
    """A snapshot of the cluster's metadata; it never changes.

    ``Client.cluster()`` returns a newer one.
    """

    @property
    def cluster_id(self) -> str | None:
        """The cluster's id (``cluster.id``); None if it is not known."""
    @property
    def generation(self) -> int:
        """The snapshot's number, which grows with each refresh; 0 before the first."""
    @property
    def brokers(self) -> dict[int, Broker]:
        """The brokers by id, in a new dict."""
    @property
    def topics(self) -> Mapping[str, Topic]:
        """The topics that the client knows, by name and in order, as a read-only mapping."""

@final
class ConnectionStatus:
    """The state of a connection at the time of the call.

    A client has at most two connections to a broker: one for data, and one for the groups and
    transactions that the broker coordinates. Consumers on a shared client have connections of their
    own.
    """

    @property
    def broker(self) -> int:
        """The broker's id."""
    @property
    def lane(self) -> Literal["data", "coordinator"]:
        """What the connection is for: ``data``, or ``coordinator`` for groups and transactions."""
    @property
    def address(self) -> str:
        """The broker's address as ``host:port``."""
    @property
    def state(self) -> Literal["connected", "connecting", "backing_off", "disconnected"]:
        """``connected``, ``connecting``, ``backing_off`` after a failure, or ``disconnected``."""
    @property
    def phase(self) -> str | None:
        """The step that is under way while ``connecting``, such as ``DNS`` or ``TLS``."""
    @property
    def in_flight(self) -> int:
        """The number of requests that have no response yet."""
    @property
    def round_trip_time(self) -> float | None:
        """The smoothed round-trip time in seconds, without fetches; None if unknown."""
    @property
    def throttled_for(self) -> float | None:
        """The rest of the broker's throttle time in seconds (KIP-219), or None."""
    @property
    def last_error(self) -> str | None:
        """The message of the last failure; None if there was none."""

@final
class Event:
    """A change of the cluster, or of a connection to it.

    ``str(event)`` is its message. Properties that do not apply to its kind are None.
    """

    @property
    def kind(
        self,
    ) -> Literal[
        "broker_added",
        "broker_lost",
        "broker_moved",
        "topic_appeared",
        "topic_gone",
        "topic_recreated",
        "partitions_added",
        "leader_changed",
        "connection_opened",
        "connection_lost",
        "missed",
    ]:
        """The kind of change, such as ``leader_changed`` or ``connection_lost``.

        ``missed`` reports that events came faster than they were read: the oldest were dropped.
        """
    @property
    def broker(self) -> int | None:
        """The id of the broker that the event is about."""
    @property
    def address(self) -> str | None:
        """The broker's address as ``host:port``."""
    @property
    def topic(self) -> str | None:
        """The topic that the event is about."""
    @property
    def partition(self) -> int | None:
        """The number of the partition that the event is about."""
    @property
    def before(self) -> int | None:
        """The previous leader (None: none or unknown), or the previous number of partitions."""
    @property
    def after(self) -> int | None:
        """The new leader (None: none or unknown), or the new number of partitions."""
    @property
    def leader_epoch(self) -> int | None:
        """The leader epoch of the new leader, if it is known."""
    @property
    def cause(self) -> str | None:
        """Why a connection was lost."""
    @property
    def message(self) -> str:
        """The event as a sentence."""

@final
class Events:
    """The changes of the cluster and of the client's connections, from the call of ``events()`` on.

    Iterating waits for the next event and ends when the client is closed. At most 1,024 unread
    events are buffered; if more come, the oldest are dropped and an event of kind ``missed`` is
    delivered.
    """

    def next(self, timeout: float | None = None) -> Event | None:
        """Return the next event.

        Args:
            timeout: seconds to wait. Default: without limit.

        Returns:
            The event, or None if none came in time.

        Raises:
            ClosedError: the client was closed, or another thread waits for the next event.
        """

    def __iter__(self) -> Events: ...
    def __next__(self) -> Event: ...

@final
class OffsetAndTimestamp:
    """An offset that was looked up, and the record's timestamp.

    Args:
        offset: the offset; -1 if no record fits.
        timestamp: the record's, in milliseconds since 1970.
        leader_epoch: the epoch of the record's leader; -1, the default, if unknown.
    """

    def __new__(
        cls, offset: int, timestamp: int, leader_epoch: int = ...
    ) -> OffsetAndTimestamp: ...
    @property
    def offset(self) -> int:
        """The offset; -1 if no record matches."""
    @property
    def timestamp(self) -> int:
        """The record's timestamp in milliseconds since 1970; -1 if none was looked up."""
    @property
    def leader_epoch(self) -> int:
        """The leader epoch of the record; -1 if unknown."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class RecordBatch:
    """Records as Arrow columns, for any library that supports Arrow's PyCapsule interface.

    ``pyarrow.record_batch(batch)`` and ``polars.DataFrame(batch)`` take it over without a copy.
    """

    @property
    def num_rows(self) -> int:
        """The number of rows."""
    @property
    def num_columns(self) -> int:
        """The number of columns."""
    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""
    @property
    def nbytes(self) -> int:
        """The size of the columns' buffers in bytes."""
    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples of plain Python values, without any Arrow library.

        It makes an object for each value and is meant for small batches.

        Returns:
            A tuple for each row, in the order of the columns. Timestamps are milliseconds since
            1970; headers are lists of pairs of a name and a value, or None.
        """

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

@final
class Scan:
    """A read of ranges of offsets: an iterator of ``RecordBatch``, and an Arrow stream.

    ``pyarrow.RecordBatchReader.from_stream(scan)`` reads it, as does any library that supports
    Arrow's PyCapsule interface. It can be read once. Use it in a ``with`` block to stop reading
    early.
    """

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""
    def __iter__(self) -> Iterator[RecordBatch]: ...
    def __next__(self) -> RecordBatch: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def close(self) -> None:
        """Stop reading, and release the buffers. Closing a scan again has no effect."""
    def __enter__(self) -> Scan: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

@final
class Client:
    """A client of one Kafka cluster: metadata, offsets, events and scans.

    Use it in a ``with`` block, or ``close()`` it. Any thread may use it. Producers, consumers and
    admins can share it.

    Args:
        bootstrap: addresses as ``host:port``, in one text or a list (``bootstrap.servers``); one
            that responds is enough.
        config: configuration by Kafka's dotted names; keyword arguments are the same names with
            underscores, and win. ``sasl_oauth_token`` is a callable for OAUTHBEARER (KIP-255). It
            returns a token, ``(token, expiry)`` or ``(token, expiry, extensions)``: the expiry in
            seconds since 1970 or as an aware ``datetime``, the extensions as a dict. It is called
            on a thread of its own whenever a new token is needed.
        timeout: seconds in which the cluster must be found; until then, servers that fail are tried
            again. Default: ``default.api.timeout.ms``, 60 s.
        connect: whether to connect now. Otherwise the first call connects.

    Raises:
        AuthenticationError: the credentials, or the certificate of either side, were rejected.
        BootstrapError: no bootstrap server could be used; the message lists each with its cause.
        ConfigError: a key or a value is wrong.
    """

    def __new__(
        cls,
        bootstrap: str | Sequence[str] | Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        connect: bool = True,
        **kwargs: Unpack[ClientConfig],
    ) -> Client: ...
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
            topics: topics that it must contain. Those that are not known yet are looked up, and are
                refreshed until they have not been used for ``metadata.max.idle.ms`` (5 minutes).
            all_topics: whether to look up all topics of the cluster, this once.
            refresh: whether to ask the cluster even if everything is known.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            UnknownTopicError: a topic does not exist.
            TimeoutError: the cluster did not respond in time.
        """

    def list_topics(self, *, timeout: float | None = None) -> list[str]:
        """Return the names of all topics, internal ones included, in alphabetical order.

        Args:
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            TimeoutError: the cluster did not respond in time.
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

    def leader(self, topic: str, partition: int) -> int | None:
        """Return the id of a partition's leader, without waiting.

        It is that of the metadata at hand; no request is sent.

        Args:
            topic: the topic's name.
            partition: the partition's number.

        Returns:
            The id, or None if the partition has no leader or is not known.
        """

    def events(self, *, all_topics: bool = False, timeout: float | None = None) -> Events:
        """Return the changes of the cluster and of the connections, from now on.

        While the returned object exists, metadata is refreshed every ``events.metadata.max.age.ms``
        (5 s), so that an idle client notices changes, too.

        Args:
            all_topics: whether to include all topics, new ones too, instead of those that this
                client uses. Topics that exist already cause no events.
            timeout: seconds for looking up the topics. Default: ``default.api.timeout.ms``.

        Raises:
            TimeoutError: the cluster did not respond in time.
        """

    def connections(self) -> list[ConnectionStatus]:
        """Return the state of each connection, by broker, without waiting."""

    def metrics(self) -> Metrics:
        """Return the client's metrics, by the Java client's names, without waiting.

        See ``ottla.Metrics`` for their meaning.
        """

    def list_offsets(
        self,
        spec: Mapping[tuple[str, int], str | int | datetime],
        *,
        isolation_level: str | None = None,
        timeout: float | None = None,
    ) -> dict[tuple[str, int], OffsetAndTimestamp]:
        """Return offsets of partitions (Kafka's ListOffsets).

        Args:
            spec: for each ``(topic, partition)`` either ``"earliest"``, ``"latest"``,
                ``"max_timestamp"`` (KIP-734), or milliseconds since 1970 for the first record that
                is not older.
            isolation_level: ``read_uncommitted`` or ``read_committed``. With ``read_committed``,
                ``"latest"`` is the last stable offset: the end, or the first record of an open
                transaction. Default: the client's ``isolation.level``.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The offsets by ``(topic, partition)``; an offset of -1 means that no record matches.

        Raises:
            ConfigError: an entry of ``spec`` or the isolation level is wrong.
            UnknownTopicError: a topic or a partition does not exist.
            TimeoutError: a leader did not respond in time.
        """

    def scan(
        self,
        ranges: Sequence[tuple[str, int, int, int | None]],
        *,
        columns: Sequence[str] | None = None,
        include_headers: bool = False,
        max_rows: int = 50_000,
        target_bytes: int = 4194304,
        fail_on_data_loss: bool = True,
        timeout: float | None = None,
    ) -> Scan:
        """Read ranges of offsets as Arrow batches; ``ottla.scan`` is the same by topic and time.

        Args:
            ranges: ``(topic, partition, start, end)``; ``end`` is exclusive. With an end of None,
                the scan follows the log until it is closed.
            columns: the columns to read, in that order. Default: all, without ``headers``.
            include_headers: whether to add ``headers`` to the default columns.
            max_rows: the maximum number of rows in a batch.
            target_bytes: bytes of keys, values and headers after which a batch ends.
            fail_on_data_loss: whether to raise if records of a range are gone. Otherwise they are
                skipped with a warning.
            timeout: seconds without any progress after which the scan fails. Default:
                ``default.api.timeout.ms``.

        Returns:
            A scan, which reads in the background from now on; errors of reading are raised by
            iterating over it.

        Raises:
            ConfigError: a range, a column or a limit is wrong.
        """

    def close(self, timeout: float | None = None) -> None:
        """Close all connections. Calls that wait for a response fail with ``ClosedError``.

        Args:
            timeout: has no effect; producers and consumers have the same argument.
        """

    def __enter__(self) -> Client: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

@final
class AsyncClient:
    """A client of one Kafka cluster for asyncio; it mirrors ``Client``.

    Methods that block there return a native future of the running loop here, without a thread that
    waits; cancelling the future cancels the request. One client may be used from several loops.

    Making a client does not connect: ``async with`` does, or ``connect()``, or the first call.

    Args:
        bootstrap: addresses as ``host:port``, in one text or a list (``bootstrap.servers``); one
            that responds is enough.
        config: configuration by Kafka's dotted names; keyword arguments are the same names with
            underscores, and win. See ``Client``.
        timeout: seconds in which ``connect()`` must find the cluster; until then, servers that fail
            are tried again. Default: ``default.api.timeout.ms``, 60 s.

    Raises:
        ConfigError: a key or a value is wrong.
    """

    def __new__(
        cls,
        bootstrap: str | Sequence[str] | Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        **kwargs: Unpack[ClientConfig],
    ) -> AsyncClient: ...
    def connect(self) -> Future[None]:
        """Find the cluster, unless it was found before.

        Raises:
            AuthenticationError: the credentials, or the certificate of either side, were rejected.
            BootstrapError: no bootstrap server could be used; the message lists each with its
                cause.
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
            topics: topics that it must contain. Those that are not known yet are looked up.
            all_topics: whether to look up all topics of the cluster, this once.
            refresh: whether to ask the cluster even if everything is known.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            UnknownTopicError: a topic does not exist.
            TimeoutError: the cluster did not respond in time.
        """

    def list_topics(self, *, timeout: float | None = None) -> Future[list[str]]:
        """Return the names of all topics, internal ones included, in alphabetical order.

        Args:
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            TimeoutError: the cluster did not respond in time.
        """

    def partitions_for(
        self, topic: str, *, timeout: float | None = None
    ) -> Future[dict[int, Partition]]:
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

    def leader(self, topic: str, partition: int) -> int | None:
        """Return the id of a partition's leader, without waiting.

        It is that of the metadata at hand; no request is sent.

        Args:
            topic: the topic's name.
            partition: the partition's number.

        Returns:
            The id, or None if the partition has no leader or is not known.
        """

    def events(
        self, *, all_topics: bool = False, timeout: float | None = None
    ) -> Future[AsyncEvents]:
        """Return the changes from now on: ``async for event in await client.events(): ...``.

        While the returned object exists, metadata is refreshed every ``events.metadata.max.age.ms``
        (5 s), so that an idle client notices changes, too.

        Args:
            all_topics: whether to include all topics, new ones too, instead of those that this
                client uses. Topics that exist already cause no events.
            timeout: seconds for looking up the topics. Default: ``default.api.timeout.ms``.

        Raises:
            TimeoutError: the cluster did not respond in time.
        """

    def connections(self) -> list[ConnectionStatus]:
        """Return the state of each connection, by broker, without waiting."""

    def metrics(self) -> Metrics:
        """Return the client's metrics, by the Java client's names, without waiting.

        See ``ottla.Metrics`` for their meaning.
        """

    def list_offsets(
        self,
        spec: Mapping[tuple[str, int], str | int | datetime],
        *,
        isolation_level: str | None = None,
        timeout: float | None = None,
    ) -> Future[dict[tuple[str, int], OffsetAndTimestamp]]:
        """Return offsets of partitions (Kafka's ListOffsets).

        Args:
            spec: for each ``(topic, partition)`` either ``"earliest"``, ``"latest"``,
                ``"max_timestamp"``, or milliseconds since 1970; see ``Client.list_offsets``.
            isolation_level: ``read_uncommitted`` or ``read_committed``. Default: the client's
                ``isolation.level``.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The offsets by ``(topic, partition)``; an offset of -1 means that no record matches.

        Raises:
            ConfigError: an entry of ``spec`` or the isolation level is wrong.
            UnknownTopicError: a topic or a partition does not exist.
            TimeoutError: a leader did not respond in time.
        """

    def close(self, timeout: float | None = None) -> Future[None]:
        """Close all connections. Calls that wait for a response fail with ``ClosedError``.

        Args:
            timeout: has no effect; producers and consumers have the same argument.
        """

    def __aenter__(self) -> Future[AsyncClient]: ...
    def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Future[None]: ...

@final
class AsyncEvents:
    """The changes of the cluster and of the client's connections, for asyncio.

    ``async for`` waits for the next event and ends when the client is closed. At most 1,024 unread
    events are buffered; if more come, the oldest are dropped and an event of kind ``missed`` is
    delivered. Cancelling a wait loses no event. If several tasks wait, each gets different events.
    """

    def next(self, timeout: float | None = None) -> Future[Event | None]:
        """Return the next event.

        Args:
            timeout: seconds to wait. Default: without limit.

        Returns:
            The event, or None if none came in time.

        Raises:
            ClosedError: the client was closed.
        """

    def __aiter__(self) -> AsyncEvents: ...
    def __anext__(self) -> Future[Event]: ...

@final
class Admin:
    """Creates and deletes topics, and reads and stores the offsets of groups.

    Use it in a ``with`` block, or ``close()`` it.

    Args:
        bootstrap: addresses as ``host:port``, or a ``Client`` whose connections it shares.
        config: configuration by Kafka's dotted names; keyword arguments are the same names with
            underscores, and win. See ``Client``.
        timeout: seconds in which the cluster must be found, as for ``Client``.

    Raises:
        AuthenticationError: the credentials, or the certificate of either side, were rejected.
        BootstrapError: no bootstrap server could be used; the message lists each with its cause.
        ConfigError: a key or a value is wrong, or a client was given together with configuration.
    """

    def __new__(
        cls,
        bootstrap: str | Sequence[str] | Mapping[str, Any] | Client | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        **kwargs: Unpack[CommonConfig],
    ) -> Admin: ...
    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication: int | None = None,
        configs: Mapping[str, str] | None = None,
        *,
        timeout: float | None = None,
    ) -> None:
        """Create a topic, and wait until all its partitions have leaders.

        Args:
            name: the topic's name.
            partitions: the number of partitions. Default: the cluster's ``num.partitions``.
            replication: the number of replicas. Default: the cluster's
                ``default.replication.factor``.
            configs: the topic's configuration, by Kafka's names, such as ``retention.ms``.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            TopicExistsError: the topic exists; with ``maybe_done``, this call may have created it.
            ConfigError: the number of partitions or replicas, or the configuration, is invalid.
            AuthorizationError: the principal may not create the topic.
            TimeoutError: the topic was not created, or has no leaders, in time.
        """

    def delete_topic(self, name: str, *, timeout: float | None = None) -> None:
        """Delete a topic.

        Args:
            name: the topic's name.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            UnknownTopicError: the topic does not exist; with ``maybe_done``, this call may have
                deleted it.
            AuthorizationError: the principal may not delete the topic.
            TimeoutError: the controller did not respond in time.
        """

    def alter_consumer_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[tuple[str, int], int],
        *,
        timeout: float | None = None,
    ) -> None:
        """Store offsets for a group without members; the group is created if it does not exist.

        Args:
            group_id: the group (``group.id``).
            offsets: the offset of the next record to read, by ``(topic, partition)``.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            AuthorizationError: the principal may not commit for the group or a topic.
            FencedError: the group has members; only they may commit.
            UnknownTopicError: a topic or a partition does not exist.
        """

    def list_consumer_group_offsets(
        self, group_id: str, *, timeout: float | None = None
    ) -> dict[tuple[str, int], int]:
        """Return the offsets that a group has committed.

        Args:
            group_id: the group (``group.id``).
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The offset of the next record to read, by ``(topic, partition)``.

        Raises:
            AuthorizationError: the principal may not read the group's offsets.
            TimeoutError: the group's coordinator did not respond in time.
        """

    def close(self) -> None:
        """Close the connections, unless they belong to a client that was given."""

    def __enter__(self) -> Admin: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

@final
class RecordMetadata:
    """The place where a record was written.

    Args:
        topic: the topic.
        partition: the partition; -1 if none was chosen.
        offset: the offset; None if it is not known, as with ``acks=0``.
        timestamp: milliseconds since 1970.
    """

    def __new__(
        cls, topic: str, partition: int, offset: int | None, timestamp: int
    ) -> RecordMetadata: ...
    @property
    def topic(self) -> str:
        """The record's topic."""
    @property
    def partition(self) -> int:
        """The partition; -1 for a record that failed before one was chosen."""
    @property
    def offset(self) -> int | None:
        """The record's offset; None with ``acks=0`` and for a record that failed."""
    @property
    def timestamp(self) -> int:
        """Milliseconds since 1970: the record's, or the broker's with ``LogAppendTime``."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Delivery:
    """A future of one record, acknowledged or failed. ``Producer.send`` returns it."""

    @property
    def topic(self) -> str:
        """The topic that the record was sent to."""
    @property
    def partition(self) -> int:
        """The partition that was chosen for the record."""
    def done(self) -> bool:
        """Return whether the record is acknowledged or failed, without waiting."""

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Wait until the record is acknowledged, and return where it was written.

        Args:
            timeout: seconds to wait. Default: without limit; the record itself ends within
                ``delivery.timeout.ms``.

        Raises:
            TimeoutError: it is not known within ``timeout`` seconds; the record is still under way.
            KafkaError: the record failed; ``maybe_done`` says whether it may have been written.
        """

    def exception(self, timeout: float | None = None) -> KafkaError | None:
        """Wait until the record is acknowledged or failed, and return why it failed.

        Args:
            timeout: seconds to wait. Default: without limit.

        Returns:
            The error, or None if the record was written.

        Raises:
            TimeoutError: it is not known within ``timeout`` seconds; the record is still under way.
        """

    def __await__(self) -> Generator[Any, None, RecordMetadata]: ...
    def add_done_callback(self, callback: Callable[[Delivery], object], /) -> None:
        """Call a function with this delivery when it is done; at once if it is.

        As with ``concurrent.futures.Future``, the function is called once: on the producer's
        delivery thread, which calls ``on_delivery`` too, or, if the delivery is done, on this one.
        ``flush()`` and ``close()`` wait for it. What it raises is logged as an error of
        ``ottla.producer``. A failure that it does not ask for, with ``exception()`` or
        ``result()``, counts as unseen.

        Args:
            callback: the function; it is called with the delivery.

        Raises:
            TypeError: the callback is not callable.
        """

@final
class BatchDelivery:
    """A future of many records. ``Producer.send_batch`` returns it; ``len()`` is their number."""

    def __len__(self) -> int: ...
    def done(self) -> bool:
        """Return whether every record is acknowledged or failed, without waiting."""

    def result(self, timeout: float | None = None) -> int:
        """Wait until all records are acknowledged, and return their number.

        Args:
            timeout: seconds to wait. Default: without limit.

        Raises:
            TimeoutError: not all are known within ``timeout`` seconds; they are still under way.
            KafkaError: the first failure; its message says how many records failed, and
                ``context["index"]`` is the index of the first.
        """

    def errors(self, timeout: float | None = None) -> list[tuple[int, int, KafkaError]]:
        """Wait until every record is acknowledged or failed, and return the failures.

        Args:
            timeout: seconds to wait. Default: without limit.

        Returns:
            ``(index of the first record, number of records, error)`` for each run of records that
            failed together. The error has the index in ``context["index"]``, too.

        Raises:
            TimeoutError: not all are known within ``timeout`` seconds; they are still under way.
        """

    def partitions(self) -> Array:
        """Return the partition of each record as an Arrow array of int32, without waiting.

        It is null for a record that was never in a batch, because it is too large.
        """

    def offsets(self, timeout: float | None = None) -> Array:
        """Wait until every record is acknowledged or failed, and return the offset of each.

        Args:
            timeout: seconds to wait. Default: without limit.

        Returns:
            An Arrow array of int64; null for a record that failed, and where the broker did not
            report the offset, as with ``acks=0``.

        Raises:
            TimeoutError: not all are known within ``timeout`` seconds; they are still under way.
        """

    def written(self, timeout: float | None = None) -> list[tuple[int, int | None, int]]:
        """Wait until all records are acknowledged, and return where they were written.

        Args:
            timeout: seconds to wait. Default: without limit.

        Returns:
            ``(partition, offset of the first record, number of records)`` for each run of records
            with consecutive offsets; the offset is None if the broker did not report it, as with
            ``acks=0``.

        Raises:
            TimeoutError: not all are known within ``timeout`` seconds; they are still under way.
            KafkaError: the first failure, as from ``result``.
        """

@final
class AsyncBatchDelivery:
    """A future of many records, for asyncio; it mirrors ``BatchDelivery``.

    ``AsyncProducer.send_batch`` returns it; ``len()`` is the number of records.
    """

    def __len__(self) -> int: ...
    def done(self) -> bool:
        """Return whether every record is acknowledged or failed, without waiting."""

    def result(self, timeout: float | None = None) -> Future[int]:
        """Wait until all records are acknowledged, and return their number.

        Args:
            timeout: seconds to wait. Default: without limit.

        Raises:
            TimeoutError: not all are known within ``timeout`` seconds; they are still under way.
            KafkaError: the first failure, as from ``BatchDelivery.result``.
        """

    def errors(self, timeout: float | None = None) -> Future[list[tuple[int, int, KafkaError]]]:
        """Wait until every record is acknowledged or failed, and return the failures.

        Args:
            timeout: seconds to wait. Default: without limit.

        Returns:
            ``(index of the first record, number of records, error)`` for each run of records that
            failed together.

        Raises:
            TimeoutError: not all are known within ``timeout`` seconds; they are still under way.
        """

    def partitions(self) -> Array:
        """Return the partition of each record as an Arrow array of int32, without waiting.

        It is null for a record that was never in a batch, because it is too large.
        """

    def offsets(self, timeout: float | None = None) -> Future[Array]:
        """Wait until every record is acknowledged or failed, and return the offset of each.

        Args:
            timeout: seconds to wait. Default: without limit.

        Returns:
            An Arrow array of int64; null for a record that failed, and where the broker did not
            report the offset, as with ``acks=0``.

        Raises:
            TimeoutError: not all are known within ``timeout`` seconds; they are still under way.
        """

    def written(self, timeout: float | None = None) -> Future[list[tuple[int, int | None, int]]]:
        """Wait until all records are acknowledged, and return where they were written.

        Args:
            timeout: seconds to wait. Default: without limit.

        Returns:
            ``(partition, offset of the first record, number of records)`` for each run of records
            with consecutive offsets; the offset is None if the broker did not report it, as with
            ``acks=0``.

        Raises:
            TimeoutError: not all are known within ``timeout`` seconds; they are still under way.
            KafkaError: the first failure, as from ``result``.
        """

@final
class AsyncProducer:
    """A producer for asyncio; it mirrors ``Producer``.

    Methods that block there return a native future of the running loop here, without a thread that
    waits. The futures of a batch complete together, so thousands of ``send`` at once cost little.
    One producer may be used from several loops.

    Making a producer does not connect: ``async with`` does, or ``connect()``, or the first record.
    At the end of an ``async with`` block it is closed, and the first failure of a record that
    nothing has awaited is raised.

    Args:
        bootstrap: addresses as ``host:port``, or a ``Client`` or ``AsyncClient`` whose connections
            it shares.
        config: configuration by Kafka's dotted names; keyword arguments are the same names with
            underscores, and win. See ``Client``.
        timeout: seconds in which ``connect()`` must find the cluster; until then, servers that fail
            are tried again. Default: ``default.api.timeout.ms``, 60 s.
        key_serializer: as for ``Producer``; called on the loop's thread.
        value_serializer: as for ``Producer``; called on the loop's thread.
        interceptors: as for ``Producer``; called on the loop's thread.
        partitioner: as for ``Producer``; called on the loop's thread.

    Raises:
        ConfigError: a key or a value is wrong, or a client was given together with configuration.
    """

    def __new__(
        cls,
        bootstrap: str | Sequence[str] | Mapping[str, Any] | Client | AsyncClient | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        key_serializer: _Serializer | None = None,
        value_serializer: _Serializer | None = None,
        interceptors: Iterable[ProducerInterceptor] | None = None,
        **kwargs: Unpack[ProducerConfig],
    ) -> AsyncProducer: ...
    def connect(self) -> Future[None]:
        """Find the cluster, unless it was found before.

        Raises:
            AuthenticationError: the credentials, or the certificate of either side, were rejected.
            BootstrapError: no bootstrap server could be used; the message lists each with its
                cause.
        """

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        *,
        headers: _Headers | None = None,
        timestamp: int | datetime | None = None,
        partition: int | None = None,
        on_delivery: _OnDelivery | None = None,
    ) -> Future[RecordMetadata]:
        """Send a record; the future completes when it is acknowledged or failed.

        The record is in its batch when the call returns, unless its topic must be looked up or the
        buffer is full. Then it waits for that for up to ``max.block.ms``, and later records of its
        topic stay behind it. Cancelling the future concerns this record alone: a record that waits
        is not sent, a record in a batch may still be written.

        Args:
            topic: the topic.
            value: bytes, text (sent as UTF-8), or None for a tombstone; or what the serializer
                takes.
            key: bytes, text or None; or what the serializer takes.
            headers: pairs of a name and a value, or a mapping.
            timestamp: milliseconds since 1970, or a ``datetime``. Default: now.
            partition: the partition. Default: the partitioner chooses.
            on_delivery: called once with an error or None, and the record's metadata, on the loop's
                thread. It is called for a record that fails while it waits, too (``partition`` is
                -1 if none was chosen), but not for one that is cancelled while it waits. An
                exception in it goes to the loop's exception handler. With it, the future need not
                be awaited.

        Returns:
            A future of where the record was written.

        Raises:
            TypeError: the key, the value or a header has a wrong type; nothing is sent.
            SerializationError: a serializer failed; nothing is sent.
            UnknownTopicError: the topic did not appear within ``max.block.ms``.
            TimeoutError: the buffer stayed full for ``max.block.ms``, or the record was not
                acknowledged within ``delivery.timeout.ms``.
            RecordTooLargeError: the record is larger than ``max.request.size`` or the topic's
                ``max.message.bytes``.
            KafkaError: the record failed; ``maybe_done`` says whether it may have been written.
        """

    def send_batch(
        self,
        topic: str,
        values: Any,
        keys: Any = None,
        *,
        headers: Sequence[_Headers | None] | None = None,
        timestamps: Sequence[int | datetime | None] | None = None,
        partitions: Sequence[int | None] | None = None,
    ) -> Future[AsyncBatchDelivery]:
        """Put many records into their batches; the future completes when all are there.

        Rows are encoded outside the loop's thread. Await a call before the next one, and before
        ``send``, if the order of their records matters. Cancelling the future ends the call between
        two rows.

        Args:
            topic: the topic.
            values: a list, or Arrow data, as for ``Producer.send_batch``.
            keys: a list, or an Arrow array, as long as the values.
            headers: headers of each record of a list.
            timestamps: the timestamp of each record of a list.
            partitions: the partition of each record of a list.

        Returns:
            A future of an ``AsyncBatchDelivery``.

        Raises:
            KafkaError: the call ended before its last record, as with ``Producer.send_batch``.
        """

    def flush(self, timeout: float | None = None) -> Future[None]:
        """Send all buffered records; the future completes when all are acknowledged or failed.

        Failures are not raised here, but by each record's future.

        Args:
            timeout: seconds. Default: ``max.block.ms`` plus ``delivery.timeout.ms``, plus 5 s.

        Raises:
            TimeoutError: records are still under way after ``timeout`` seconds.
        """

    def partitions_for(
        self, topic: str, *, timeout: float | None = None
    ) -> Future[dict[int, Partition]]:
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

    def connections(self) -> list[ConnectionStatus]:
        """Return the state of each connection, by broker, without waiting.

        On a shared client, those of its other users are included.
        """

    def events(
        self, *, all_topics: bool = False, timeout: float | None = None
    ) -> Future[AsyncEvents]:
        """Return the changes of the cluster and of the connections, from now on.

        Args:
            all_topics: whether to include all topics, instead of those that this producer uses.
            timeout: seconds for looking up the topics. Default: ``default.api.timeout.ms``.

        See ``AsyncClient.events``.
        """

    def metrics(self) -> ProducerMetrics:
        """Return the metrics of this producer and its client, by the Java client's names.

        See ``ottla.ProducerMetrics`` for their meaning.
        """

    def topic_metrics(self) -> dict[str, TopicMetrics]:
        """Return the metrics of each topic that records were sent to, by topic.

        See ``ottla.TopicMetrics`` for their meaning.
        """

    @property
    def buffered_bytes(self) -> int:
        """The bytes of ``buffer.memory`` that hold records without an acknowledgement."""

    def close(self, timeout: float | None = None) -> Future[None]:
        """Send all buffered records, wait until they are acknowledged, and close the producer.

        Records that are not acknowledged within ``timeout`` seconds fail. Cancelling the future
        ends the wait, not the closing.

        Args:
            timeout: seconds. Default: 60.

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

@final
class Producer:
    """A producer. Use it in a ``with`` block, or ``close()`` it, so that every record is written.

    At the end of a ``with`` block, the first failure of a record whose result nothing has asked for
    is raised. Any thread may use the producer.

    Args:
        bootstrap: addresses as ``host:port``, or a ``Client`` whose connections it shares.
        config: configuration by Kafka's dotted names; keyword arguments are the same names with
            underscores, and win. See ``Client``.
        timeout: seconds in which the cluster must be found, as for ``Client``.
        key_serializer: turns keys that are not None into bytes: see ``ottla.serializers``. Arrow
            columns are sent as they are.
        value_serializer: the same for values.
        interceptors: see each record before it is sent, and what became of it: see
            ``ottla.interceptors``. With them, ``send_batch`` takes only lists.
        partitioner: the name of a partitioner (``partitioner.class``), or an object: see
            ``ottla.partitioners``.

    Raises:
        AuthenticationError: the credentials, or the certificate of either side, were rejected.
        BootstrapError: no bootstrap server could be used; the message lists each with its cause.
        ConfigError: a key or a value is wrong, or a client was given together with configuration.
    """

    def __new__(
        cls,
        bootstrap: str | Sequence[str] | Mapping[str, Any] | Client | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        key_serializer: _Serializer | None = None,
        value_serializer: _Serializer | None = None,
        interceptors: Iterable[ProducerInterceptor] | None = None,
        **kwargs: Unpack[ProducerConfig],
    ) -> Producer: ...
    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        *,
        headers: _Headers | None = None,
        timestamp: int | datetime | None = None,
        partition: int | None = None,
        on_delivery: _OnDelivery | None = None,
    ) -> Delivery:
        """Put a record into its partition's batch; returns at once unless the buffer is full.

        Args:
            topic: the topic.
            value: bytes, text (sent as UTF-8), or None for a tombstone; or what the serializer
                takes.
            key: bytes, text or None; or what the serializer takes. Records with the same key go to
                the same partition.
            headers: pairs of a name and a value, or a mapping; a name may occur more than once.
            timestamp: milliseconds since 1970, or a ``datetime``. Default: now.
            partition: the partition. Default: the partitioner chooses.
            on_delivery: called once with an error or None, and the record's metadata, when it is
                acknowledged or failed: on a thread of the producer, one record after the other. An
                exception in it is raised by ``flush`` or ``close``. It is not called if this call
                raises.

        Returns:
            A future of where the record was written.

        Raises:
            TypeError: the key, the value or a header has a wrong type; nothing is sent.
            SerializationError: a serializer failed; nothing is sent.
            UnknownTopicError: the topic did not appear within ``max.block.ms``.
            TimeoutError: the call waited for ``max.block.ms`` in total: for the topic, for space in
                the buffer, and for callbacks to keep up.
            RecordTooLargeError: the record is larger than ``max.request.size``.
        """

    def send_batch(
        self,
        topic: str,
        values: Any,
        keys: Any = None,
        *,
        headers: Sequence[_Headers | None] | None = None,
        timestamps: Sequence[int | datetime | None] | None = None,
        partitions: Sequence[int | None] | None = None,
    ) -> BatchDelivery:
        """Put many records into their batches.

        While the buffer is full it waits, up to ``max.block.ms`` a record.

        Args:
            topic: the topic.
            values: a list of bytes, text or None; or Arrow data: an array of values, or a batch or
                table with the column ``value`` and optionally ``key``, ``headers``, ``timestamp``
                and ``partition``.
            keys: a list, or an Arrow array, as long as the values.
            headers: headers of each record of a list.
            timestamps: the timestamp of each record of a list.
            partitions: the partition of each record of a list.

        Returns:
            A future of all records. Records that are too large fail there.

        Raises:
            TypeError: a value or a key has a wrong type; nothing is sent.
            UnknownTopicError: the topic did not appear within ``max.block.ms``.
            TimeoutError: the buffer stayed full for ``max.block.ms``.
            KafkaError: if the call ended before its last record, ``delivery`` has the accepted
                records and ``context["index"]`` is the index of the first record to send again.
        """

    def flush(self, timeout: float | None = None) -> None:
        """Send all buffered records, and wait until they are acknowledged or failed.

        It waits for their ``on_delivery`` calls, too, and raises what one of them has raised.
        Failures of records are not raised here, but by ``Delivery.result()``.

        Args:
            timeout: seconds. Default: ``delivery.timeout.ms`` plus 5 s.

        Raises:
            TimeoutError: records are still under way after ``timeout`` seconds.
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

    def connections(self) -> list[ConnectionStatus]:
        """Return the state of each connection, by broker, without waiting.

        On a shared client, those of its other users are included.
        """

    def events(self, *, all_topics: bool = False, timeout: float | None = None) -> Events:
        """Return the changes of the cluster and of the connections, from now on.

        Args:
            all_topics: whether to include all topics, instead of those that this producer uses.
            timeout: seconds for looking up the topics. Default: ``default.api.timeout.ms``.

        See ``Client.events``.
        """

    def metrics(self) -> ProducerMetrics:
        """Return the metrics of this producer and its client, by the Java client's names.

        See ``ottla.ProducerMetrics`` for their meaning.
        """

    def topic_metrics(self) -> dict[str, TopicMetrics]:
        """Return the metrics of each topic that records were sent to, by topic.

        See ``ottla.TopicMetrics`` for their meaning.
        """

    @property
    def buffered_bytes(self) -> int:
        """The bytes of ``buffer.memory`` that hold records without an acknowledgement."""

    def close(self, timeout: float | None = None) -> None:
        """Send all buffered records, wait until they are acknowledged, and close the producer.

        Records that are not acknowledged within ``timeout`` seconds fail.

        Args:
            timeout: seconds. Default: 60.

        Raises:
            TimeoutError: records were not acknowledged within ``timeout`` seconds.
        """

    def __enter__(self) -> Producer: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

@final
class DeliveryReports:
    """The queue of completed records that have a callback, for the thread that calls it.

    Iterating waits for the next one: callback, its arguments, and whether it is a done callback.
    """

    def __iter__(self) -> DeliveryReports: ...
    def __next__(
        self,
    ) -> tuple[Callable[..., object], tuple[Any, ...], bool]: ...
    def raised(self, error: BaseException) -> bool:
        """Keep an exception of a callback for ``flush``; return False if one is kept already."""

@final
class Record(Generic[_Key, _Value]):
    """A record that was read. It holds no buffer of the consumer.

    Args:
        topic: the topic.
        partition: the partition.
        offset: the record's offset.
        timestamp: milliseconds since 1970; -1 if it has none.
        timestamp_type: 0 if the producer set the timestamp, 1 if the broker did; -1 if there is
            none.
        key: bytes, or what ``key_deserializer`` returned; None if it has none.
        value: bytes, or what ``value_deserializer`` returned; None for a tombstone.
        headers: pairs of a name and a value.
        leader_epoch: the epoch of the leader that appended the record; -1 if unknown.
    """

    def __new__(
        cls,
        topic: str,
        partition: int,
        offset: int,
        *,
        timestamp: int = ...,
        timestamp_type: int = 0,
        key: _Key = ...,
        value: _Value = ...,
        headers: Sequence[tuple[str, bytes | None]] | None = None,
        leader_epoch: int = ...,
    ) -> Record[_Key, _Value]: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    @property
    def topic(self) -> str:
        """The topic that the record was read from."""
    @property
    def partition(self) -> int:
        """The number of the partition that the record was read from."""
    @property
    def offset(self) -> int:
        """The record's offset in its partition."""
    @property
    def timestamp(self) -> int:
        """The record's timestamp in milliseconds since 1970; -1 if it has none."""
    @property
    def timestamp_type(self) -> int:
        """0 for CreateTime, set by the producer; 1 for LogAppendTime, by the broker; -1: none."""
    @property
    def key(self) -> _Key:
        """The key as bytes, or what ``key_deserializer`` returned; None if the record has none."""
    @property
    def value(self) -> _Value:
        """The value as bytes, or what ``value_deserializer`` returned; None for a tombstone."""
    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]:
        """The headers as pairs of a name and a value; a name may occur more than once."""
    @property
    def leader_epoch(self) -> int:
        """The epoch of the leader that appended the record (KIP-320); -1 if unknown."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class OffsetAndMetadata:
    """An offset as a group stores it.

    Args:
        offset: the offset of the next record to read.
        metadata: text that the group stores with it. Default: empty.
        leader_epoch: the leader epoch of the record before it (KIP-320). Default: -1, unknown.

    Raises:
        ConfigError: the offset is negative.
    """

    def __new__(
        cls, offset: int, metadata: str = ..., leader_epoch: int = ...
    ) -> OffsetAndMetadata: ...
    @property
    def offset(self) -> int:
        """The offset of the next record to read."""
    @property
    def metadata(self) -> str:
        """The text that the group stores with the offset."""
    @property
    def leader_epoch(self) -> int:
        """The leader epoch of the record before the offset; -1 if unknown."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class GroupMetadata:
    """The identity of a consumer in its group.

    A transaction that commits the consumer's offsets sends it (KIP-447).
    It can be pickled, for a producer in another process.

    Args:
        group_id: the group.
        generation: the group's generation (classic) or the member's epoch (KIP-848); -1, the
            default, for no member.
        member_id: the member's id; empty, the default, for no member.
        instance_id: the ``group.instance.id`` of a static member. Default: None.
    """

    def __new__(
        cls,
        group_id: str,
        generation: int = ...,
        member_id: str = ...,
        instance_id: str | None = None,
    ) -> GroupMetadata: ...
    @property
    def group_id(self) -> str:
        """The group (``group.id``)."""
    @property
    def generation(self) -> int:
        """The group's generation, or the member's epoch with KIP-848; -1 if it is not a member."""
    @property
    def member_id(self) -> str:
        """The member's id; empty if it is not a member."""
    @property
    def instance_id(self) -> str | None:
        """``group.instance.id`` of a static member (KIP-345); None without one."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class MemberSubscription:
    """A member of a classic group, as an assignor sees it: see ``ottla.assignors``."""

    @property
    def member_id(self) -> str:
        """The member's id in this group."""
    @property
    def instance_id(self) -> str | None:
        """``group.instance.id`` of a static member (KIP-345); None without one."""
    @property
    def topics(self) -> list[str]:
        """The topics that the member subscribes to."""
    @property
    def owned(self) -> list[_Partition]:
        """The partitions that the member holds while it joins, as topic and number (KIP-429)."""
    @property
    def generation(self) -> int:
        """The generation in which the member got ``owned`` (KIP-792); -1 if unknown."""
    @property
    def rack(self) -> str | None:
        """The member's rack (``client.rack``, KIP-881); None if it has none."""
    @property
    def user_data(self) -> bytes | None:
        """What the member's assignor added to its subscription; None if it added nothing."""

@final
class RebalanceChange:
    """A change of the assignment for ``AsyncConsumer`` to handle."""

    @property
    def partitions(self) -> list[_Partition]:
        """The partitions that were assigned, revoked or lost, as topic and number."""

@disjoint_base
class ConsumerBase:
    """The methods that ``Consumer`` and ``AsyncConsumer`` share. They do not wait."""

    def subscribe(
        self,
        topics: Sequence[str] | None = None,
        *,
        pattern: str | re.Pattern[str] | None = None,
        on_assigned: _OnPartitions | None = None,
        on_revoked: _OnPartitions | None = None,
        on_lost: _OnPartitions | None = None,
    ) -> None:
        """Subscribe to topics as a member of the group; replaces an earlier subscription.

        The consumer joins the group with the next poll or iteration.

        Callbacks are called inside a poll, by the thread that polls. They may commit, seek and
        pause, but not poll. The poll raises what a callback raises.

        Args:
            topics: the topics; those that do not exist yet are read once they do.
            pattern: instead of topics, a regular expression for whole topic names: in Java's
                syntax, or with ``group.protocol=consumer`` in that of RE2, as the brokers match it.
            on_assigned: called with the consumer and the new partitions, as topic and number, after
                each rebalance; there may be none.
            on_revoked: called with the consumer and partitions before it gives them up, in time to
                commit.
            on_lost: called with the consumer and partitions that it has lost, when a commit would
                be rejected. Default: ``on_revoked``.

        Raises:
            ConfigError: there is no ``group.id``, the pattern is invalid, or both or neither of
                topics and pattern are given.
            StateError: partitions are assigned by hand.
            TypeError: ``topics`` is a single text, or a callback is not callable.
        """

    def assign(self, partitions: Iterable[_Partition]) -> None:
        """Read exactly these partitions, without group membership; replaces an earlier assignment.

        Partitions that were assigned before keep their position. The others begin at the offset
        that the group has committed, or where ``auto.offset.reset`` says.

        Args:
            partitions: pairs of a topic and a partition's number.

        Raises:
            StateError: topics are subscribed to.
        """

    def assignment(self) -> list[_Partition]:
        """Return the assigned partitions as pairs of a topic and a number, in order."""

    def subscription(self) -> list[str] | str:
        """Return the topics that were subscribed to, or the pattern as text."""

    def seek(
        self, topic: str, partition: int, offset: int, *, leader_epoch: int | None = None
    ) -> None:
        """Set a partition's position. Records that were fetched before are dropped.

        Args:
            topic: the topic.
            partition: the partition.
            offset: the offset of the next record to read.
            leader_epoch: the leader epoch of the record before it, if known. With it, a log that
                was truncated below the offset is detected (KIP-320).

        Raises:
            ConfigError: the offset is negative.
            StateError: the partition is not assigned.
        """

    def seek_to_beginning(self, *partitions: _Partition) -> None:
        """Continue at the first offset; it is looked up in the background.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.

        Raises:
            StateError: a partition is not assigned.
        """

    def seek_to_end(self, *partitions: _Partition) -> None:
        """Continue at the end of the log; it is looked up in the background.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.

        Raises:
            StateError: a partition is not assigned.
        """

    def pause(self, *partitions: _Partition) -> None:
        """Return no records of partitions until ``resume``.

        Keep polling: a member that does not poll is removed from its group
        (``max.poll.interval.ms``).

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.

        Raises:
            StateError: a partition is not assigned.
        """

    def resume(self, *partitions: _Partition) -> None:
        """Return records of paused partitions again.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.

        Raises:
            StateError: a partition is not assigned.
        """

    def paused(self) -> list[_Partition]:
        """Return the paused partitions as pairs of a topic and a number, in order."""

    def lag(self) -> dict[_Partition, int | None]:
        """Return the number of records between each partition's position and its end.

        It is the difference to the high watermark of the last fetch, or with ``read_committed`` to
        the last stable offset; no request is sent.

        Returns:
            The lag by ``(topic, partition)``; None if it is not known yet.
        """

    def group_metadata(self) -> GroupMetadata:
        """Return the identity of this consumer in its group.

        Raises:
            ConfigError: there is no ``group.id``.
        """

    def connections(self) -> list[ConnectionStatus]:
        """Return the state of each connection, by broker, without waiting.

        On a shared client, those of its other users are included.
        """

    def metrics(self) -> Metrics:
        """Return the client's metrics, by the Java client's names, without waiting.

        On a shared client, its other users are included.

        See ``ottla.Metrics`` for their meaning.
        """

    def wakeup(self) -> None:
        """End the poll that waits, or else the next one, with ``WakeupError``.

        Any thread may call it.
        """

    @property
    def closed(self) -> bool:
        """Whether the consumer was closed."""

    def _stop_auto_commit(self) -> None: ...
    def _closing_failed(self, error: str) -> None: ...

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
        key_deserializer: _Deserializer[_K] | None = None,
        value_deserializer: _Deserializer[_V] | None = None,
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

    def commit(self, offsets: _Commit | None = None, *, timeout: float | None = None) -> None:
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
        self, offsets: _Commit | None = None, on_commit: _OnCommit | None = None
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
        self, *partitions: _Partition, timeout: float | None = None
    ) -> dict[_Partition, OffsetAndMetadata | None]:
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
        self, timestamps: Mapping[_Partition, int | datetime], *, timeout: float | None = None
    ) -> dict[_Partition, OffsetAndTimestamp | None]:
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
        self, *partitions: _Partition, timeout: float | None = None
    ) -> dict[_Partition, int]:
        """Return the first offset of partitions.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            UnknownTopicError: a topic or a partition does not exist.
            TimeoutError: a leader did not respond in time.
        """

    def end_offsets(
        self, *partitions: _Partition, timeout: float | None = None
    ) -> dict[_Partition, int]:
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

@disjoint_base
class AsyncConsumerBase(ConsumerBase, Generic[_K, _V]):
    """The methods of ``AsyncConsumer`` that are native futures."""

    def __new__(
        cls,
        bootstrap: str | Sequence[str] | Mapping[str, Any] | Client | AsyncClient | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        topics: Sequence[str] | None = None,
        key_deserializer: _Deserializer[_K] | None = None,
        value_deserializer: _Deserializer[_V] | None = None,
        timeout: float | None = None,
        **kwargs: Unpack[ConsumerConfig],
    ) -> Self: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    def connect(self) -> Future[None]:
        """Find the cluster, unless it was found before.

        ``async with`` and the first poll do the same.

        Raises:
            AuthenticationError: the credentials, or the certificate of either side, were rejected.
            BootstrapError: no bootstrap server could be used; the message lists each with its
                cause.
        """

    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Awaitable[Record[_K | None, _V | None]]: ...
    def events(
        self, *, all_topics: bool = False, timeout: float | None = None
    ) -> Future[AsyncEvents]:
        """Return the changes of the cluster and of the connections, from now on.

        Args:
            all_topics: whether to include all topics, instead of those that this consumer uses.
            timeout: seconds for looking up the topics. Default: ``default.api.timeout.ms``.

        See ``AsyncClient.events``.
        """

    def list_topics(self, *, timeout: float | None = None) -> Future[list[str]]:
        """Return the names of all topics, internal ones included, in order.

        Args:
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            TimeoutError: no broker has answered in time.
        """

    def partitions_for(
        self, topic: str, *, timeout: float | None = None
    ) -> Future[dict[int, Partition]]:
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

    def position(self, topic: str, partition: int, *, timeout: float | None = None) -> Future[int]:
        """Return the offset of the next record, once it is known.

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
        self, offsets: _Commit | None = None, *, timeout: float | None = None
    ) -> Future[None]:
        """Commit offsets to the group; the future completes with the response.

        The commit is under way when the call returns. Commits are sent in the order of the calls.

        Args:
            offsets: the offset of the next record to read, or an ``OffsetAndMetadata``, by
                ``(topic, partition)``. Default: the positions at the time of the call.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            AuthorizationError: the principal may not commit for the group or a topic.
            CommitFailedError: the group is rebalancing, or has removed this member; other members
                may have its partitions.
            ConfigError: there is no ``group.id``, or an offset is negative.
            TimeoutError: the group's coordinator did not respond in time.
        """

    def commit_async(
        self, offsets: _Commit | None = None, on_commit: _OnCommit | None = None
    ) -> None:
        """Commit offsets without a future. Commits are sent in the order of the calls.

        Args:
            offsets: as for ``commit``; by default the positions at the time of the call.
            on_commit: a function or coroutine function, called with an error or None, and the
                offsets, inside a later poll or ``close``; cancelling that cancels it. Without it,
                errors are logged.

        Raises:
            ConfigError: an offset is negative.
            StateError: 10,000 commits are under way.
        """

    def committed(
        self, *partitions: _Partition, timeout: float | None = None
    ) -> Future[dict[_Partition, OffsetAndMetadata | None]]:
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
        self, timestamps: Mapping[_Partition, int | datetime], *, timeout: float | None = None
    ) -> Future[dict[_Partition, OffsetAndTimestamp | None]]:
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
        self, *partitions: _Partition, timeout: float | None = None
    ) -> Future[dict[_Partition, int]]:
        """Return the first offset of partitions.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            UnknownTopicError: a topic or a partition does not exist.
            TimeoutError: a leader did not respond in time.
        """

    def end_offsets(
        self, *partitions: _Partition, timeout: float | None = None
    ) -> Future[dict[_Partition, int]]:
        """Return the end offset of partitions: the offset of the next record that is written.

        With ``isolation.level=read_committed`` it is the last stable offset.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            UnknownTopicError: a topic or a partition does not exist.
            TimeoutError: a leader did not respond in time.
        """

    def _lock_poll(self) -> None: ...
    def _unlock_poll(self) -> None: ...
    def _wait_for_records(
        self, timeout: float, max_records: int | None
    ) -> Future[bool | RebalanceChange]: ...
    def _pop_records(self, max_records: int | None) -> list[Record[_K | None, _V | None]]: ...
    def _pop_record(self) -> Record[_K | None, _V | None] | None: ...
    def _wait_for_batch(
        self, timeout: float, max_rows: int, columns: list[str] | None, include_headers: bool
    ) -> Future[bool | RebalanceChange]: ...
    def _pop_batch(self) -> RecordBatch | None: ...
    def _begin_rebalance(self, change: RebalanceChange) -> Future[None]: ...
    def _rebalance_callback(self, change: RebalanceChange) -> Callable[..., object] | None: ...
    def _wait_for_commits(self, change: RebalanceChange) -> Future[None]: ...
    def _finish_rebalance(self, change: RebalanceChange) -> None: ...
    def _next_pending_rebalance(self) -> RebalanceChange | None: ...
    def _unsubscribe(self) -> None: ...
    def _next_commit_callback(
        self,
    ) -> tuple[_OnCommit, KafkaError | None, dict[_Partition, OffsetAndMetadata]] | None: ...
    def _start_closing(self) -> bool: ...
    def _acquire_poll_lock(self, timeout: float) -> Future[bool]: ...
    def _begin_close(self, timeout: float) -> Future[None]: ...
    def _end_close(self, timeout: float) -> Future[None]: ...

@final
class LogEvents:
    """The engine's log events, for the thread that hands them to Python's loggers.

    Iterating waits for the next one and never ends: logger, level, file, line and message.
    """

    def __iter__(self) -> LogEvents: ...
    def __next__(self) -> tuple[str, int, str, int, str]: ...

@final
class MockCluster:
    """The cluster behind ``ottla.testing.MockCluster``, which describes its methods."""

    def __new__(
        cls,
        brokers: int = 3,
        *,
        racks: list[str] | None = None,
        auto_create_topics: bool = True,
        default_partitions: int = 1,
        max_message_bytes: int = 1_048_588,
        users: dict[str, str] | None = None,
        session_lifetime: float | None = None,
        without: list[str] | None = None,
        group_heartbeat_interval: float = 0.2,
        group_session_timeout: float = 45.0,
        group_initial_delay: float = 0.01,
    ) -> MockCluster: ...
    def set_user(self, user: str, password: str | None) -> None:
        """Set a user's password, or remove the user."""
    @property
    def bootstrap(self) -> str:
        """The brokers' addresses, as ``bootstrap.servers`` takes them."""
    @property
    def brokers(self) -> dict[int, str]:
        """The address of each broker, by id."""
    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication: int | None = None,
        configs: dict[str, str] | None = None,
    ) -> None:
        """Create a topic; its leaders are spread over the brokers."""
    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
    def leader(self, topic: str, partition: int) -> int | None:
        """Return the id of the broker that leads a partition."""
    def move_leader(self, topic: str, partition: int, to: int) -> None:
        """Make another broker the leader of a partition."""
    def delete_records(self, topic: str, partition: int, before: int) -> int:
        """Delete the records before an offset, and return the log's new start."""
    def end_offset(self, topic: str, partition: int) -> int:
        """Return the partition's high watermark."""
    def append(self, topic: str, partition: int, values: list[bytes]) -> int:
        """Append a batch of values, and return the offset of the first."""
    def append_in_transaction(
        self, topic: str, partition: int, producer_id: int, values: list[bytes]
    ) -> int:
        """Append values in a transaction, and return the offset of the first."""
    def end_transaction(self, topic: str, partition: int, producer_id: int, commit: bool) -> int:
        """Commit or abort a transaction, and return the offset of its marker."""
    def truncate(self, topic: str, partition: int, offset: int) -> None:
        """Remove the end of a log, from an offset on."""
    def coordinator(self, key: str) -> int | None:
        """Return the id of the broker that coordinates a group or a transactional id."""
    def move_coordinator(self, key: str, to: int) -> None:
        """Make another broker the coordinator of a group or a transactional id."""
    def group(
        self, group: str
    ) -> (
        tuple[
            str,
            str,
            str | None,
            int,
            str | None,
            list[tuple[str, str | None, str, int, list[tuple[str, int]]]],
        ]
        | None
    ):
        """Return a group as plain values, or None."""
    def expire_member(self, group: str, member_id: str) -> None:
        """End a member's session."""
    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """Return the offsets that a group has committed, by topic and partition."""
    def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Commit an offset for a group."""
    def expire_offset(self, group: str, topic: str, partition: int) -> None:
        """Remove an offset of a group."""
    def advertise(self, broker: int, host: str, port: int) -> None:
        """Advertise another host and port for a broker."""
    def stop_broker(self, broker: int) -> None:
        """Stop a broker: its connections break, and its leaderships move."""
    def start_broker(self, broker: int) -> None:
        """Start a stopped broker at its old address."""
    def connections(self, broker: int) -> int:
        """Return the number of a broker's connections."""
    def request_count(self, api: str, broker: int | None = None) -> int:
        """Return the number of requests of an API, at one broker or at all."""
    def inject(
        self,
        reaction: dict[str, object],
        *,
        api: str | None = None,
        broker: int | None = None,
        topic: str | None = None,
        partition: int | None = None,
        skip: int = 0,
        times: int | None = None,
    ) -> int:
        """Inject a fault, a dict with one key, and return its number."""
    def fault_hits(self, fault: int) -> int:
        """Return how many requests a fault has hit."""
    def clear_faults(self) -> None:
        """Remove all faults."""
    def close(self) -> None:
        """Stop all brokers."""
    def __enter__(self) -> MockCluster: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

def config_row_of(name: str) -> str | None:
    """Return the configuration key that a name sets, whichever client's name it is, or None."""

def config_rows() -> list[tuple[str, str, str, tuple[int, int] | None, str]]:
    """Return every key of the configuration: name, type, default, bounds and meaning."""

def examine(
    bootstrap: str | Sequence[str] | Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    topic: str | None = None,
    group: str | None = None,
    timeout: float | None = None,
    **kwargs: Unpack[CommonConfig],
) -> dict[str, Any]:
    """Run the checks of ``ottla.diagnose`` and return what they found, as plain values."""

def foreign_config_rows() -> list[tuple[str, str, str | None, str]]:
    """Return the keys of other clients, with what each means here, for the table in the docs."""

def partition_for_key(key: _Bytes, partitions: int) -> int:
    """Return the partition of a key, as the Java client's default partitioner chooses it.

    Args:
        key: bytes, or text (as UTF-8).
        partitions: the topic's number of partitions.

    Raises:
        ConfigError: the key is None, or ``partitions`` is 0.
    """

def partitions_for_keys(keys: Any, partitions: int) -> Array:
    """Return the partition of each key, as the Java client's default partitioner chooses it.

    Args:
        keys: binary or text, as an Arrow array, chunked array or column.
        partitions: the topic's number of partitions.

    Returns:
        An Arrow array of int32, in one chunk; null for a null.

    Raises:
        ConfigError: the keys have another type, or ``partitions`` is 0.
        TypeError: the keys are not Arrow data.
    """
