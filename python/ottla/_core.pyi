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
    """An Arrow array, which any Arrow library takes over without a copy: ``pyarrow.array(it)``."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

@final
class Broker:
    """A broker of the cluster."""

    @property
    def id(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def rack(self) -> str | None: ...

@final
class Partition:
    """A partition: who leads it, who has replicas, which of them are in sync."""

    @property
    def index(self) -> int: ...
    @property
    def leader(self) -> int | None: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def replicas(self) -> list[int]: ...
    @property
    def isr(self) -> list[int]: ...
    @property
    def offline_replicas(self) -> list[int]: ...
    @property
    def error(self) -> str | None: ...

@final
class Topic:
    """A topic and its partitions by index."""

    @property
    def name(self) -> str: ...
    @property
    def id(self) -> str | None: ...
    @property
    def internal(self) -> bool: ...
    @property
    def error(self) -> str | None: ...
    @property
    def partitions(self) -> dict[int, Partition]: ...

@final
class Cluster:
    """The cluster as a client knew it at one moment; it does not change."""

    @property
    def cluster_id(self) -> str | None: ...
    @property
    def controller(self) -> int | None: ...
    @property
    def generation(self) -> int: ...
    @property
    def brokers(self) -> dict[int, Broker]: ...
    @property
    def topics(self) -> Mapping[str, Topic]: ...

@final
class ConnectionStatus:
    """A connection as it was when asked for.

    There are at most two to a broker: one for data, one for the groups and transactions that it
    coordinates. ``phase`` is where one that is connecting is; ``round_trip_time`` in seconds is how
    long an answer takes, smoothed, fetches not counted; ``throttled_for`` is for how many seconds
    more the broker wants no requests.
    """

    @property
    def broker(self) -> int: ...
    @property
    def lane(self) -> Literal["data", "coordinator"]: ...
    @property
    def address(self) -> str: ...
    @property
    def state(self) -> Literal["connected", "connecting", "backing_off", "disconnected"]: ...
    @property
    def phase(self) -> str | None: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def round_trip_time(self) -> float | None: ...
    @property
    def throttled_for(self) -> float | None: ...
    @property
    def last_error(self) -> str | None: ...

@final
class Event:
    """Something about the cluster, or about the way to it, has changed.

    ``kind`` says what, ``message`` says it in words, and so does ``str()``. The others are ``None``
    where they do not apply: ``before`` and ``after`` are the leaders of a ``leader_changed``, and
    numbers of partitions of the events about topics; ``None`` there is no leader, or none that is
    known. ``missed`` means that events came faster than they were taken, and the oldest are lost.
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
    ]: ...
    @property
    def broker(self) -> int | None: ...
    @property
    def address(self) -> str | None: ...
    @property
    def topic(self) -> str | None: ...
    @property
    def partition(self) -> int | None: ...
    @property
    def before(self) -> int | None: ...
    @property
    def after(self) -> int | None: ...
    @property
    def leader_epoch(self) -> int | None: ...
    @property
    def cause(self) -> str | None: ...
    @property
    def message(self) -> str: ...

@final
class Events:
    """What changes from now on. Iterating waits for the next event, and ends with the client.

    No more than 1,024 events are kept for who does not take them.
    """

    def next(self, timeout: float | None = None) -> Event | None:
        """Return the next event, or ``None`` if none comes within ``timeout`` seconds.

        Raises:
            ClosedError: the client was closed.
        """

    def __iter__(self) -> Events: ...
    def __next__(self) -> Event: ...

@final
class OffsetAndTimestamp:
    """An offset, and the record that it belongs to.

    Args:
        offset: the offset; -1 if no record fits.
        timestamp: the record's, in milliseconds since 1970.
        leader_epoch: the epoch of the record's leader; -1, the default, if unknown.
    """

    def __new__(
        cls, offset: int, timestamp: int, leader_epoch: int = ...
    ) -> OffsetAndTimestamp: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class RecordBatch:
    """Rows as Arrow columns, for any library that speaks Arrow's PyCapsule interface."""

    @property
    def num_rows(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    @property
    def nbytes(self) -> int: ...
    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples of plain values, in the order of the columns.

        Timestamps are milliseconds since 1970; headers are lists of pairs, or None. For little
        data: an Arrow library takes the columns over without making an object a value.
        """

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

@final
class Scan:
    """A bounded read: an iterator of ``RecordBatch``, and an Arrow stream. It can be read once."""

    @property
    def column_names(self) -> list[str]: ...
    def __iter__(self) -> Iterator[RecordBatch]: ...
    def __next__(self) -> RecordBatch: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def close(self) -> None: ...
    def __enter__(self) -> Scan: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

@final
class Client:
    """A client of one cluster.

    Args:
        bootstrap: addresses as ``host:port``, in one text or a list; one that answers is enough.
            Or a mapping in their place, which is the configuration.
        config: configuration by Kafka's dotted names; ``kwargs`` are the same with underscores.
            Beside its keys there is ``sasl_oauth_token``, a callable for OAUTHBEARER that returns a
            token, or ``(token, expiry)`` or ``(token, expiry, extensions)``: the expiry in seconds
            since 1970 or as a ``datetime`` with a time zone, the extensions as a dict. It is called
            on a thread of its own whenever a fresh token is needed.
        timeout: seconds in which the cluster is to be found. Servers that may come back are tried
            again until then. Default: ``default.api.timeout.ms``, 60 s.
        connect: whether to connect now; otherwise the first call does.

    Raises:
        AuthenticationError: the credentials or the certificate of one side were refused.
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
        """Return what is known of the cluster.

        Args:
            topics: topics that must be in it; they are looked up if they are not known yet, and
                remembered until nobody has used them for ``metadata.max.idle.ms``.
            all_topics: whether to ask for all topics there are, this once.
            refresh: whether to ask the cluster even if everything is known.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            UnknownTopicError: a topic does not exist.
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

    def leader(self, topic: str, partition: int) -> int | None:
        """Return the id of a partition's leader, from what is known, without waiting."""

    def events(self, *, all_topics: bool = False, timeout: float | None = None) -> Events:
        """Return the changes from now on, of the cluster and of the connections, as they happen.

        Args:
            all_topics: whether to tell of all topics, those to come included, for as long as these
                events are there; otherwise of those that this client uses. What there is already
                is asked for now, and not told as new.
            timeout: seconds for asking. Default: ``default.api.timeout.ms``.

        While the events are there, the metadata is refreshed every ``events.metadata.max.age.ms``
        (5 s), so that changes are noticed on an idle client, too.
        """

    def connections(self) -> list[ConnectionStatus]:
        """Return the state of each connection, by broker."""

    def metrics(self) -> Metrics:
        """Return what was counted and measured so far, by the Java client's names."""

    def list_offsets(
        self,
        spec: Mapping[tuple[str, int], str | int | datetime],
        *,
        isolation_level: str | None = None,
        timeout: float | None = None,
    ) -> dict[tuple[str, int], OffsetAndTimestamp]:
        """Return offsets of partitions.

        Args:
            spec: by topic and partition: ``"earliest"``, ``"latest"``, ``"max_timestamp"``, or a
                time for the first record at or after it: milliseconds since 1970, or a
                ``datetime`` with a time zone.
            isolation_level: ``read_committed`` or ``read_uncommitted``. With ``read_committed``,
                ``"latest"`` is the last stable offset: no transaction before it is open.
                Default: the client's ``isolation.level``.
            timeout: seconds. Default: ``default.api.timeout.ms``.
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
        """Read ranges of offsets: (topic, partition, start, end), the end not included.

        Without an end (None), reading goes on as the log grows, until the scan is closed.

        See ``ottla.scan`` for the other arguments.
        """

    def close(self, timeout: float | None = None) -> None:
        """End all connections. What waits on them fails with that as the cause."""

    def __enter__(self) -> Client: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

@final
class AsyncClient:
    """A client of one cluster, for asyncio: the twin of ``Client``.

    What waits there returns a native future of the running loop here; cancelling it ends what it
    waits for. No thread is made to wait in. One client may be used from several loops.

    Making one does not connect: ``async with`` does, or ``connect()``, or else the first call.

    Args:
        bootstrap: addresses as ``host:port``, in one text or a list; one that answers is enough.
            Or a mapping in their place, which is the configuration.
        config: configuration by Kafka's dotted names; ``kwargs`` are the same with underscores.
            See ``Client``.
        timeout: seconds in which the cluster is to be found. Servers that may come back are tried
            again until then. Default: ``default.api.timeout.ms``, 60 s.

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
            AuthenticationError: the credentials or the certificate of one side were refused.
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
        """Return what is known of the cluster, as ``Client.cluster`` does.

        Raises:
            UnknownTopicError: a topic does not exist.
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

    def leader(self, topic: str, partition: int) -> int | None:
        """Return the id of a partition's leader, from what is known, without waiting."""

    def events(
        self, *, all_topics: bool = False, timeout: float | None = None
    ) -> Future[AsyncEvents]:
        """Return the changes from now on: ``async for event in await client.events(): ...``.

        Args:
            all_topics: whether to tell of all topics, those to come included, for as long as these
                events are there; otherwise of those that this client uses. What there is already
                is asked for now, and not told as new.
            timeout: seconds for asking. Default: ``default.api.timeout.ms``.
        """

    def connections(self) -> list[ConnectionStatus]:
        """Return the state of each connection, by broker, without waiting."""

    def metrics(self) -> Metrics:
        """Return what was counted and measured so far, by the Java client's names."""

    def list_offsets(
        self,
        spec: Mapping[tuple[str, int], str | int | datetime],
        *,
        isolation_level: str | None = None,
        timeout: float | None = None,
    ) -> Future[dict[tuple[str, int], OffsetAndTimestamp]]:
        """Return offsets of partitions, as ``Client.list_offsets`` does."""

    def close(self, timeout: float | None = None) -> Future[None]:
        """End all connections. What waits on them fails with that as the cause."""

    def __aenter__(self) -> Future[AsyncClient]: ...
    def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Future[None]: ...

@final
class AsyncEvents:
    """What changes from now on. Iterating awaits the next event, and ends with the client.

    No more than 1,024 events are kept for who does not take them. A wait that is cancelled loses
    none; of several that wait, each gets events of its own.
    """

    def next(self, timeout: float | None = None) -> Future[Event | None]:
        """Return the next event, or ``None`` if none comes within ``timeout`` seconds.

        Raises:
            ClosedError: the client was closed.
        """

    def __aiter__(self) -> AsyncEvents: ...
    def __anext__(self) -> Future[Event]: ...

@final
class Admin:
    """Changes the cluster: for now, topics and the offsets of groups.

    Args:
        bootstrap: addresses, a mapping that is the configuration, or a ``Client`` to share its
            connections.
        config: configuration by Kafka's dotted names; ``kwargs`` are the same with underscores.
        timeout: seconds in which the cluster is to be found, as for ``Client``.
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
        """Make a topic, and return when all its partitions have leaders.

        Args:
            name: the topic's name.
            partitions: how many partitions. Default: the cluster's ``num.partitions``.
            replication: how many replicas. Default: the cluster's ``default.replication.factor``.
            configs: the topic's configuration, by Kafka's names.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            TopicExistsError: the topic exists already.
            ConfigError: something about it is not legal.
            AuthorizationError: the principal may not make topics.
        """

    def delete_topic(self, name: str, *, timeout: float | None = None) -> None:
        """Delete a topic.

        Raises:
            UnknownTopicError: it does not exist.
        """

    def alter_consumer_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[tuple[str, int], int],
        *,
        timeout: float | None = None,
    ) -> None:
        """Store offsets for a group that has no members, which is made if it is not there.

        Args:
            group_id: the group.
            offsets: by topic and partition, the offset of the next record to read.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            AuthorizationError: the principal may not commit for this group or topic.
            FencedError: the group has members, who commit themselves.
        """

    def list_consumer_group_offsets(
        self, group_id: str, *, timeout: float | None = None
    ) -> dict[tuple[str, int], int]:
        """Return the offsets that a group has committed, by topic and partition.

        Args:
            group_id: the group.
            timeout: seconds. Default: ``default.api.timeout.ms``.
        """

    def close(self) -> None:
        """End the connections, unless they are those of a ``Client`` that was given."""

    def __enter__(self) -> Admin: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

@final
class RecordMetadata:
    """Where a record was written.

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
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int | None: ...
    @property
    def timestamp(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Delivery:
    """The promise of one record: acknowledged or failed, exactly once."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    def done(self) -> bool:
        """Whether it is known what became of the record."""

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Wait, and return where the record was written, or raise why it was not.

        Raises:
            TimeoutError: not known yet after ``timeout`` seconds; the record is still under way.
            KafkaError: it failed; ``maybe_done`` tells whether it may have been written.
        """

    def exception(self, timeout: float | None = None) -> KafkaError | None:
        """Wait, and return why the record failed, or None if it was written."""

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        """Wait for the acknowledgement without blocking the running asyncio loop.

        A cancelled wait does not cancel the record, and the delivery can be awaited again.

        Raises:
            KafkaError: the record was not written.
        """

    def add_done_callback(self, callback: Callable[[Delivery], object], /) -> None:
        """Call a function with this delivery when it is done; at once if it is.

        As ``concurrent.futures.Future`` has it. The function is called once, on the producer's
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
    """The promise of many records."""

    def __len__(self) -> int: ...
    def done(self) -> bool:
        """Whether it is known what became of every record."""

    def result(self, timeout: float | None = None) -> int:
        """Wait for all, and return how many there are, or raise the first failure."""

    def errors(self, timeout: float | None = None) -> list[tuple[int, int, KafkaError]]:
        """Wait for all, and return what failed: index of the first record, how many, why.

        The errors have ``context["index"]``, that of the first, tell with ``maybe_done`` whether
        the records may have been written all the same, and with ``name`` what the broker said last.
        """

    def partitions(self) -> Array:
        """The partition of each record, as an Arrow array of int32.

        Null for a record that no batch has taken, as it is too large for one.
        """

    def offsets(self, timeout: float | None = None) -> Array:
        """Wait for all, and return the offset of each record, as an Arrow array of int64.

        Null for a record that failed (see ``errors``), and where the broker did not tell it, as
        with ``acks=0``. ``pyarrow.array(...)`` takes it over without a copy.
        """

    def written(self, timeout: float | None = None) -> list[tuple[int, int | None, int]]:
        """Wait for all, and return where they were written, or raise the first failure.

        Each entry is of records that follow each other in a partition: its number, the offset of
        the first (None if the broker did not tell it, as with ``acks=0``), and how many there are.
        """

@final
class AsyncBatchDelivery:
    """The promise of many records, for asyncio: the twin of ``BatchDelivery``."""

    def __len__(self) -> int: ...
    def done(self) -> bool:
        """Whether it is known what became of every record."""

    def result(self, timeout: float | None = None) -> Future[int]:
        """How many there are, once all are acknowledged, or else the first failure."""

    def errors(self, timeout: float | None = None) -> Future[list[tuple[int, int, KafkaError]]]:
        """What failed, once all is known: index of the first record, how many, why."""

    def partitions(self) -> Array:
        """The partition of each record: see ``BatchDelivery.partitions``."""

    def offsets(self, timeout: float | None = None) -> Future[Array]:
        """The offset of each record, once all is known: see ``BatchDelivery.offsets``."""

    def written(self, timeout: float | None = None) -> Future[list[tuple[int, int | None, int]]]:
        """Where all were written, or else the first failure: see ``BatchDelivery.written``."""

@final
class AsyncProducer:
    """A producer for asyncio: the twin of ``Producer``.

    What waits there returns a native future of the running loop here; no thread is made to wait
    in. The futures of a batch are filled together, so thousands of ``send`` at once cost little.
    One producer may be used from several loops.

    Making one does not connect: ``async with`` does, or ``connect()``, or else the first record.

    Args:
        bootstrap: addresses, a mapping that is the configuration, or a ``Client`` or
            ``AsyncClient`` to share its connections.
        config: configuration by Kafka's dotted names; ``kwargs`` are the same with underscores.
        timeout: seconds in which the cluster is to be found. Servers that may come back are tried
            again until then. Default: ``default.api.timeout.ms``, 60 s.
        key_serializer, value_serializer, interceptors, and the keyword ``partitioner``: as for
            ``Producer``; they are called on the loop's thread.

    Raises:
        ConfigError: a key or a value is wrong.
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
        """Find the cluster, unless it was found before. See ``AsyncClient.connect``."""

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
        """Send a record; the future gets where it was written, or why it was not.

        The record is in its batch when the call returns, unless its topic has to be looked up or
        the buffer is full: then it waits for that, for up to ``max.block.ms`` from the call on,
        and those of its topic that are sent after it stay behind it. Cancelling the future
        concerns this record alone: one that waits is not sent, one that is in its batch may still
        be written.

        Args:
            topic, value, key, headers, timestamp, partition: as in ``Producer.send``.
            on_delivery: called once, as in ``Producer.send``, but on the loop's thread, and also
                for a record that fails while it waits (``metadata.partition`` is -1 then if none
                was chosen); not for one that is cancelled while it waits. What it raises goes to
                the loop's exception handler. A future of which it was told need not be awaited.

        Raises:
            SerializationError: a serializer failed; nothing is sent.
            UnknownTopicError: the topic did not appear within ``max.block.ms``.
            TimeoutError: the buffer stayed full for ``max.block.ms``, or the record was not
                acknowledged within ``delivery.timeout.ms``.
            RecordTooLargeError: the record is larger than ``max.request.size``.
            KafkaError: it failed; ``maybe_done`` tells whether it may have been written.
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
        """Put many records into their batches; the future is done when all are there.

        The rows are encoded beside the loop's thread. Await one call before the next, and before
        ``send``, where their order counts. Cancelling it ends it between two rows.

        Args:
            topic, values, keys, headers, timestamps, partitions: as in ``Producer.send_batch``.
        """

    def flush(self, timeout: float | None = None) -> Future[None]:
        """Send what waits; done when all that was sent before is acknowledged or failed."""

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
        """Return the state of each connection, by broker; those of other users of a shared client
        included.
        """

    def events(
        self, *, all_topics: bool = False, timeout: float | None = None
    ) -> Future[AsyncEvents]:
        """Return the changes from now on, of the cluster and of the connections.

        See ``AsyncClient.events``.
        """

    def metrics(self) -> ProducerMetrics:
        """What was counted and measured: see ``Producer.metrics``. It waits for nothing."""

    def topic_metrics(self) -> dict[str, TopicMetrics]:
        """What was counted by topic: see ``Producer.topic_metrics``."""

    @property
    def buffered_bytes(self) -> int:
        """Bytes of records that are not acknowledged yet."""

    def close(self, timeout: float | None = None) -> Future[None]:
        """Flush for up to ``timeout`` seconds (60), then fail what is unsent with a reason.

        Cancelling the future ends the wait, not the closing.
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
    """A producer. Use it in a ``with`` block, or ``close()`` it, to be sure that all is written.

    Args:
        bootstrap: addresses, a mapping that is the configuration, or a ``Client`` to share its
            connections.
        config: configuration by Kafka's dotted names; ``kwargs`` are the same with underscores.
        timeout: seconds in which the cluster is to be found, as for ``Client``.
        key_serializer, value_serializer: what makes bytes of keys and values that are not None:
            see ``ottla.serializers``. Columns of Arrow are sent as they are.
        interceptors: what sees each record before it is sent, and hears what became of it: see
            ``ottla.interceptors``. With them ``send_batch`` takes lists alone.

    The keyword ``partitioner`` is the name of a partitioner (``partitioner.class``), or your own:
    an ``ottla.partitioners.Partitioner`` or ``BatchPartitioner``.
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
            value: bytes, text (sent as UTF-8), or None for a tombstone.
            key: bytes, text, or None; records of the same key go to the same partition. With a
                serializer, keys and values are what it takes.
            headers: pairs of a name and a value; the same name may come more than once.
            timestamp: milliseconds since 1970, or a ``datetime`` with a time zone. Default: now.
            partition: the partition. Default: what the partitioner chooses.
            on_delivery: called once with an error or None, and where the record was written, when
                that is known; on a thread of the producer's own, one record after the other. What
                it raises is raised again by ``flush`` or ``close``. It is not called for a record
                that this call refuses with an exception.

        Raises:
            ConfigError: the timestamp is negative, or a naive ``datetime``.
            SerializationError: a serializer failed; nothing is sent.
            UnknownTopicError: the topic did not appear within ``max.block.ms``.
            TimeoutError: the call waited for ``max.block.ms``, for the topic, for room in the
                buffer, and for callbacks to keep up, together.
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
        """Put many records into their batches; waits while the buffer is full, for up to
        ``max.block.ms`` a record.

        Args:
            topic: the topic.
            values: a list of bytes, text or None; or anything that speaks Arrow: an array of
                values, or a batch or table with columns ``value`` and, if wished, ``key``,
                ``headers``, ``timestamp`` and ``partition``.
            keys: a list, or an Arrow array, as long as the values.
            headers: headers for each record of a list.
            timestamps: a timestamp for each record of a list. A column of Arrow timestamps without
                a time zone is taken to be in UTC.
            partitions: a partition for each record of a list.
        """

    def flush(self, timeout: float | None = None) -> None:
        """Send what waits, and wait until all that was sent before is acknowledged or failed, and
        its callbacks were called.

        Failures are told by each record's ``Delivery``, not here; what an ``on_delivery`` has
        raised is raised here.
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
        """Return the state of each connection, by broker; those of other users of a shared client
        included.
        """

    def events(self, *, all_topics: bool = False, timeout: float | None = None) -> Events:
        """Return the changes from now on, of the cluster and of the connections.

        See ``Client.events``.
        """

    def metrics(self) -> ProducerMetrics:
        """What this producer and its client count and measure, by the Java client's names.

        Rates, averages and maxima are over ``metrics.num.samples`` windows of
        ``metrics.sample.window.ms``; what was not measured yet is nan.
        """

    def topic_metrics(self) -> dict[str, TopicMetrics]:
        """What Java counts by topic, of each topic that records were sent to."""

    @property
    def buffered_bytes(self) -> int:
        """Bytes of records that are not acknowledged yet."""

    def close(self, timeout: float | None = None) -> None:
        """Flush for up to ``timeout`` seconds (60), then fail what is unsent with a reason."""

    def __enter__(self) -> Producer: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

@final
class DeliveryReports:
    """The records that are done and have a callback, for the thread that calls it."""

    def __iter__(self) -> DeliveryReports: ...
    def __next__(
        self,
    ) -> tuple[Callable[..., object], tuple[Any, ...], bool]:
        """Callback, arguments, and whether it is a done callback, of the next record; waits."""

    def raised(self, error: BaseException) -> bool:
        """Keep what a callback has raised for ``flush``; not if something is kept already."""

@final
class Record(Generic[_Key, _Value]):
    """A record that was read. It keeps nothing else alive.

    Args:
        topic: the topic.
        partition: the partition.
        offset: its offset.
        timestamp: milliseconds since 1970; -1 if it has none.
        timestamp_type: who gave the timestamp: 0 the producer, 1 the broker; -1 if there is none.
        key: bytes, or what ``key_deserializer`` has made of them; None if it has none.
        value: bytes, or what ``value_deserializer`` has made of them; None for a tombstone.
        headers: pairs of a name and a value.
        leader_epoch: the epoch of the leader that appended it; -1 if unknown.
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
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def timestamp_type(self) -> int: ...
    @property
    def key(self) -> _Key: ...
    @property
    def value(self) -> _Value: ...
    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]: ...
    @property
    def leader_epoch(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class OffsetAndMetadata:
    """An offset as a group keeps it.

    Args:
        offset: the offset of the next record to read.
        metadata: text to be kept with it. Default: empty.
        leader_epoch: the leader epoch of the record before it; -1, the default, if unknown.
    """

    def __new__(
        cls, offset: int, metadata: str = ..., leader_epoch: int = ...
    ) -> OffsetAndMetadata: ...
    @property
    def offset(self) -> int: ...
    @property
    def metadata(self) -> str: ...
    @property
    def leader_epoch(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class GroupMetadata:
    """Who a consumer is in its group: what a transaction that commits its offsets shows.

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
    def group_id(self) -> str: ...
    @property
    def generation(self) -> int: ...
    @property
    def member_id(self) -> str: ...
    @property
    def instance_id(self) -> str | None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class MemberSubscription:
    """A member of a group, as an assignor of its own sees it: see ``ottla.assignors``.

    ``owned`` are the partitions that it holds while it joins (cooperative assignors), which it got
    in ``generation``, -1 if it does not say. ``user_data`` is what its assignor has added.
    """

    @property
    def member_id(self) -> str: ...
    @property
    def instance_id(self) -> str | None: ...
    @property
    def topics(self) -> list[str]: ...
    @property
    def owned(self) -> list[_Partition]: ...
    @property
    def generation(self) -> int: ...
    @property
    def rack(self) -> str | None: ...
    @property
    def user_data(self) -> bytes | None: ...

@final
class RebalanceChange:
    """A change of the assignment that waits to be worked off."""

    @property
    def partitions(self) -> list[_Partition]: ...

@disjoint_base
class ConsumerBase:
    """What ``Consumer`` and ``AsyncConsumer`` do without waiting. Any thread may call it."""

    def subscribe(
        self,
        topics: Sequence[str] | None = None,
        *,
        pattern: str | re.Pattern[str] | None = None,
        on_assigned: _OnPartitions | None = None,
        on_revoked: _OnPartitions | None = None,
        on_lost: _OnPartitions | None = None,
    ) -> None:
        """Read what the group assigns; replaces an earlier subscription.

        The group is joined by the next poll or iteration, not before: it would wait for a member
        that is not polled.

        Args:
            topics: topics; those that do not exist yet are read once they do.
            pattern: instead of topics, a regular expression for their whole names, in Java's
                syntax. With ``group.protocol=consumer`` the brokers match it, in the syntax of RE2.
            on_assigned: called with the consumer and the partitions that have come, after each
                rebalance; none may have come.
            on_revoked: called before partitions are given up: the place to commit what was done.
            on_lost: called when partitions are gone already, and a commit would be refused.
                Default: ``on_revoked``.

        Callbacks are called inside of a poll, by the thread that polls. They may commit, seek,
        pause and so on, but not poll. What one raises is raised by the poll.

        Raises:
            ConfigError: there is no ``group.id``, or the pattern is none.
            StateError: partitions are assigned by hand.
        """

    def assign(self, partitions: Iterable[_Partition]) -> None:
        """Read exactly these partitions, without a group's doing.

        Those that were assigned before go on where they are; the others begin at the offset that
        the group, if there is one, has committed, or as ``auto.offset.reset`` says.

        Raises:
            StateError: topics are subscribed to.
        """

    def assignment(self) -> list[_Partition]:
        """Return the partitions that are assigned, in order."""

    def subscription(self) -> list[str] | str:
        """Return the topics, or the pattern as text, that were subscribed to."""

    def seek(
        self, topic: str, partition: int, offset: int, *, leader_epoch: int | None = None
    ) -> None:
        """Go on at an offset. What was fetched before is dropped, also what is on its way.

        Args:
            topic: the topic.
            partition: the partition.
            offset: the offset.
            leader_epoch: the leader epoch of the record before it, if known: a log that was cut
                below the offset is noticed with it.

        Raises:
            StateError: the partition is not assigned.
        """

    def seek_to_beginning(self, *partitions: _Partition) -> None:
        """Go on at the first offset; of all assigned partitions if none is named."""

    def seek_to_end(self, *partitions: _Partition) -> None:
        """Go on at the end; of all assigned partitions if none is named."""

    def pause(self, *partitions: _Partition) -> None:
        """Hand out nothing of these partitions until ``resume``; of all if none is named.

        Polling goes on: a member that does not poll is thrown out of its group.
        """

    def resume(self, *partitions: _Partition) -> None:
        """Hand out paused partitions again; all if none is named."""

    def paused(self) -> list[_Partition]:
        """Return the partitions that are paused."""

    def lag(self) -> dict[_Partition, int | None]:
        """Return how many records each partition has behind the position, as the last answer told
        it; None if nothing is known yet. Nothing is asked for."""

    def group_metadata(self) -> GroupMetadata:
        """Return who this consumer is in its group.

        Raises:
            ConfigError: there is no ``group.id``.
        """

    def connections(self) -> list[ConnectionStatus]:
        """Return the state of each connection, by broker; those of other users of a shared client
        included.
        """

    def metrics(self) -> Metrics:
        """Return the metrics of the connections, by the Java client's names; those of other users
        of a shared client included.
        """

    def wakeup(self) -> None:
        """End the poll that waits, or the next one, with ``WakeupError``; from any thread."""

    @property
    def closed(self) -> bool:
        """Whether it was closed."""

    def _stop_auto_commit(self) -> None: ...
    def _closing_failed(self, error: str) -> None: ...

@final
class Consumer(ConsumerBase, Generic[_K, _V]):
    """A consumer. Iterate over it, or poll; use it in a ``with`` block, or ``close()`` it.

    A ``with`` block that ends with an exception, Ctrl-C included, commits nothing automatically:
    the records that were being processed are read again. Offsets that were committed before stay.

    Args:
        bootstrap: addresses, a mapping that is the configuration, or a ``Client`` to share what it
            knows of the cluster; connections to leaders and coordinators are the consumer's own all
            the same.
        config: configuration by Kafka's dotted names; ``kwargs`` are the same with underscores.
            ``partition_assignment_strategy`` takes assignors of your own, too: see
            ``ottla.assignors``.
        topics: topics to subscribe to at once; ``subscribe`` can do more.
        key_deserializer, value_deserializer: what makes objects of bytes: see
            ``ottla.deserializers``. Columns of Arrow have the bytes.
        timeout: seconds in which the cluster is to be found, as for ``Client``.

    One thread polls at a time; the rest may be called by others. Iterating hands out record by
    record, for ever: the position is behind a record once it was handed out.
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
        """Give up all partitions, and leave the group; the callbacks are called."""

    def poll(
        self, timeout: float = 1.0, max_records: int | None = None
    ) -> list[Record[_K | None, _V | None]]:
        """Return records, as soon as there are any; none if none come in time.

        The position is behind them at once.

        Args:
            timeout: seconds.
            max_records: the most records. Default: ``max.poll.records``, 500.

        Raises:
            OffsetError: a partition has no position, and ``auto.offset.reset`` is none.
            SerializationError: the next record cannot be deserialized; the position stays before
                it, ``seek`` past it to go on.
            StateError: nothing is subscribed to or assigned, or another thread polls.
            WakeupError: ``wakeup()`` was called.
        """

    def poll_arrow(
        self,
        timeout: float = 1.0,
        max_rows: int = 50_000,
        columns: Sequence[str] | None = None,
        include_headers: bool = False,
    ) -> RecordBatch | None:
        """Return records as Arrow columns, or None if none come in time.

        Args:
            timeout: seconds.
            max_rows: the most rows; about 4 MB of keys and values are the most in any case.
            columns: the columns, in that order. Default: all, without ``headers``.
            include_headers: whether the default has ``headers``, too.

        Raises:
            KafkaError: as ``poll``.
        """

    def __iter__(self) -> Iterator[Record[_K | None, _V | None]]: ...
    def __next__(self) -> Record[_K | None, _V | None]: ...
    def events(self, *, all_topics: bool = False, timeout: float | None = None) -> Events:
        """Return the changes from now on, of the cluster and of the connections.

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
        """Return the offset of the next record; waits until it is known.

        Raises:
            StateError: the partition is not assigned.
            TimeoutError: it is not known after ``timeout`` seconds (``default.api.timeout.ms``).
        """

    def commit(self, offsets: _Commit | None = None, *, timeout: float | None = None) -> None:
        """Commit positions to the group, and wait until that is done.

        Args:
            offsets: offsets of the next records to read, by partition; or a record that was
                processed: the offset behind it is committed for its partition, with its leader
                epoch. Default: the positions of all assigned partitions, that is, all that was
                handed out.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            BrokerError: it was refused; under ``ILLEGAL_GENERATION`` or ``UNKNOWN_MEMBER_ID`` the
                partitions are another member's by now.
        """

    def commit_async(
        self, offsets: _Commit | None = None, on_commit: _OnCommit | None = None
    ) -> None:
        """As ``commit``, without waiting. Commits go out in the order of the calls.

        Args:
            offsets: as for ``commit``; what was handed out by now.
            on_commit: called with the error, or None, and the offsets, by a later poll, commit or
                close. Without it, an error is logged.
        """

    def committed(
        self, *partitions: _Partition, timeout: float | None = None
    ) -> dict[_Partition, OffsetAndMetadata | None]:
        """Return what the group has committed; of all assigned partitions if none is named."""

    def offsets_for_times(
        self, timestamps: Mapping[_Partition, int | datetime], *, timeout: float | None = None
    ) -> dict[_Partition, OffsetAndTimestamp | None]:
        """Return the first record of each partition that is not older than a time.

        Args:
            timestamps: by topic and partition, milliseconds since 1970 or a ``datetime`` with a
                time zone.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            None for a partition without such a record.

        Raises:
            ConfigError: a time is negative, or a naive ``datetime``.
        """

    def beginning_offsets(
        self, *partitions: _Partition, timeout: float | None = None
    ) -> dict[_Partition, int]:
        """Return the first offsets; of all assigned partitions if none is named."""

    def end_offsets(
        self, *partitions: _Partition, timeout: float | None = None
    ) -> dict[_Partition, int]:
        """Return the offsets that come next; of all assigned partitions if none is named. With
        ``isolation.level=read_committed``, the last stable ones."""

    def close(self, timeout: float = 30.0) -> None:
        """Commit if that happens by itself, give up the partitions, leave the group, and end.

        A poll under way in another thread ends with ``ClosedError``.

        Args:
            timeout: seconds, for all of it.

        Raises:
            TimeoutError: the group's coordinator was not told in time; the consumer is closed all
                the same.
            StateError: it was called by a callback.
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
    """What ``AsyncConsumer`` awaits; see there. Names that begin with an underscore are its own."""

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
        """Find the cluster, before anything is asked of it: ``async with`` does it, and so does
        the first poll."""

    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Awaitable[Record[_K | None, _V | None]]: ...
    def events(
        self, *, all_topics: bool = False, timeout: float | None = None
    ) -> Future[AsyncEvents]:
        """Return the changes from now on, of the cluster and of the connections.

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
        """Return the offset of the next record, once it is known."""

    def commit(
        self, offsets: _Commit | None = None, *, timeout: float | None = None
    ) -> Future[None]:
        """Commit positions to the group, as ``Consumer.commit``.

        It is under way when this returns, and commits what was handed out by then. Commits go out
        in the order of the calls.
        """

    def commit_async(
        self, offsets: _Commit | None = None, on_commit: _OnCommit | None = None
    ) -> None:
        """As ``commit``, without a future that somebody has to await.

        Args:
            offsets: as for ``commit``; what was handed out by now.
            on_commit: a function or coroutine function, called with the error, or None, and the
                offsets, inside of a later poll or ``close``; cancelling that cancels it. Without
                it, an error is logged.
        """

    def committed(
        self, *partitions: _Partition, timeout: float | None = None
    ) -> Future[dict[_Partition, OffsetAndMetadata | None]]:
        """Return what the group has committed; of all assigned partitions if none is named."""

    def offsets_for_times(
        self, timestamps: Mapping[_Partition, int | datetime], *, timeout: float | None = None
    ) -> Future[dict[_Partition, OffsetAndTimestamp | None]]:
        """Return the first record of each partition that is not older than a time.

        Args:
            timestamps: by topic and partition, milliseconds since 1970 or a ``datetime`` with a
                time zone.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            None for a partition without such a record.

        Raises:
            ConfigError: a time is negative, or a naive ``datetime``.
        """

    def beginning_offsets(
        self, *partitions: _Partition, timeout: float | None = None
    ) -> Future[dict[_Partition, int]]:
        """Return the first offsets; of all assigned partitions if none is named."""

    def end_offsets(
        self, *partitions: _Partition, timeout: float | None = None
    ) -> Future[dict[_Partition, int]]:
        """Return the offsets that come next; of all assigned partitions if none is named."""

    def _enter(self) -> None: ...
    def _leave(self) -> None: ...
    def _find_records(
        self, timeout: float, max_records: int | None
    ) -> Future[bool | RebalanceChange]: ...
    def _take_records(self, max_records: int | None) -> list[Record[_K | None, _V | None]]: ...
    def _take_record(self) -> Record[_K | None, _V | None] | None: ...
    def _find_columns(
        self, timeout: float, max_rows: int, columns: list[str] | None, include_headers: bool
    ) -> Future[bool | RebalanceChange]: ...
    def _take_columns(self) -> RecordBatch | None: ...
    def _begin(self, change: RebalanceChange) -> Future[None]: ...
    def _callback(self, change: RebalanceChange) -> Callable[..., object] | None: ...
    def _settle(self, change: RebalanceChange) -> Future[None]: ...
    def _finish(self, change: RebalanceChange) -> None: ...
    def _leaving(self) -> RebalanceChange | None: ...
    def _unsubscribe(self) -> None: ...
    def _ended(
        self,
    ) -> tuple[_OnCommit, KafkaError | None, dict[_Partition, OffsetAndMetadata]] | None: ...
    def _start_closing(self) -> bool: ...
    def _wait_for_turn(self, timeout: float) -> Future[bool]: ...
    def _begin_close(self, timeout: float) -> Future[None]: ...
    def _end_close(self, timeout: float) -> Future[None]: ...

@final
class LogEvents:
    """The engine's log, for the thread that hands it to Python's loggers: it never ends."""

    def __iter__(self) -> LogEvents: ...
    def __next__(self) -> tuple[str, int, str, int, str]:
        """Logger, level, file, line and message of the next event; waits for it."""

@final
class MockCluster:
    """The engine of ``ottla.testing.MockCluster``."""

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
    def set_user(self, user: str, password: str | None) -> None: ...
    @property
    def bootstrap(self) -> str: ...
    @property
    def brokers(self) -> dict[int, str]: ...
    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication: int | None = None,
        configs: dict[str, str] | None = None,
    ) -> None: ...
    def delete_topic(self, name: str) -> None: ...
    def leader(self, topic: str, partition: int) -> int | None: ...
    def move_leader(self, topic: str, partition: int, to: int) -> None: ...
    def delete_records(self, topic: str, partition: int, before: int) -> int: ...
    def end_offset(self, topic: str, partition: int) -> int: ...
    def append(self, topic: str, partition: int, values: list[bytes]) -> int: ...
    def append_in_transaction(
        self, topic: str, partition: int, producer_id: int, values: list[bytes]
    ) -> int: ...
    def end_transaction(
        self, topic: str, partition: int, producer_id: int, commit: bool
    ) -> int: ...
    def truncate(self, topic: str, partition: int, offset: int) -> None: ...
    def coordinator(self, key: str) -> int | None: ...
    def move_coordinator(self, key: str, to: int) -> None: ...
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
    ): ...
    def expire_member(self, group: str, member_id: str) -> None: ...
    def committed(self, group: str) -> dict[tuple[str, int], int]: ...
    def commit(self, group: str, topic: str, partition: int, offset: int) -> None: ...
    def expire_offset(self, group: str, topic: str, partition: int) -> None: ...
    def advertise(self, broker: int, host: str, port: int) -> None: ...
    def stop_broker(self, broker: int) -> None: ...
    def start_broker(self, broker: int) -> None: ...
    def connections(self, broker: int) -> int: ...
    def request_count(self, api: str, broker: int | None = None) -> int: ...
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
    ) -> int: ...
    def fault_hits(self, fault: int) -> int: ...
    def clear_faults(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> MockCluster: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

def config_row_of(name: str) -> str | None:
    """Return the row that a key sets, by its dotted name; None if there is none.

    Args:
        name: the key, with dots or underscores, by our name or another client's.
    """

def config_rows() -> list[tuple[str, str, str, tuple[int, int] | None, str]]:
    """Return every key of the configuration: name, type, default, bounds, meaning."""

def examine(
    bootstrap: str | Sequence[str] | Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    topic: str | None = None,
    group: str | None = None,
    timeout: float | None = None,
    **kwargs: Unpack[CommonConfig],
) -> dict[str, Any]:
    """Look at every step of every connection, for ``ottla.diagnose``, which gives it types."""

def foreign_config_rows() -> list[tuple[str, str, str | None, str]]:
    """Return every key of another client that is understood.

    Returns:
        Its name, the client, the row that it sets if there is one, and what it means here.
    """

def partition_for_key(key: _Bytes, partitions: int) -> int:
    """Return the partition of a key among so many, as the Java client chooses it."""

def partitions_for_keys(keys: Any, partitions: int) -> Array:
    """Return the partition of each key, as the Java client chooses it; null for a null.

    Args:
        keys: binary or text in an Arrow array, chunked array or column.
        partitions: how many partitions there are.

    Returns:
        int32 in one Arrow array, however many chunks the keys are in.

    Raises:
        ConfigError: the keys are of another type, or ``partitions`` is 0.
        TypeError: the keys are not in Arrow.
    """
