"""The blocking client and the asyncio client."""

from asyncio import Future
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, final, overload

from typing_extensions import Unpack

from ottla._core.client_base import ClientBase
from ottla._core.cluster import Cluster, Partition
from ottla._core.column_format import ColumnFormat
from ottla._core.events import AsyncEvents, Events
from ottla._core.offsets import OffsetAndTimestamp
from ottla._core.scan import AsyncScanBase, Scan
from ottla.config_types import ClientConfig
from ottla.errors import KafkaError

@final
class Client(ClientBase):
    """A client of one Kafka cluster: metadata, offsets, events and scans.

    Use it in a ``with`` block, or ``close()`` it. Any thread may use it. Producers, consumers and
    admins can share it.

    Args:
        bootstrap: addresses as ``host:port``, as a string or a list (``bootstrap.servers``); one
            that responds is enough.
        config: configuration by Kafka's dotted names. Keyword arguments are the same names with
            underscores and take precedence. ``sasl_oauth_token`` is a callable for OAUTHBEARER
            (KIP-255), called on a thread of its own whenever a new token is needed. It returns a
            token, ``(token, expiry)`` or ``(token, expiry, extensions)``: the expiry in seconds
            since 1970 or as an aware ``datetime``, the extensions as a dict.
        timeout: seconds to find the cluster; the error comes as soon as every server has failed.
            Default: ``default.api.timeout.ms``, 60 s.
        connect: whether to connect now. Otherwise the configuration is checked, nothing is started,
            and each call that needs the cluster connects within its own timeout.

    Raises:
        AuthenticationError: the credentials, or the certificate of either side, were rejected.
        BootstrapError: no bootstrap server could be used; the message lists each with its cause.
        ConfigError: a key or a value is invalid.
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
            topics: topics that the snapshot must contain. Unknown topics are looked up, and
                refreshed until they were unused for ``metadata.max.idle.ms`` (5 minutes).
            all_topics: whether to look up all topics of the cluster, for this call only.
            refresh: whether to request new metadata even if everything is cached.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            UnknownTopicError: a topic does not exist.
            TimeoutError: the cluster did not respond in time.
        """

    def topic_names(self, *, timeout: float | None = None) -> list[str]:
        """Return the names of all topics, internal ones included, in alphabetical order.

        Args:
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
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

    def events(self, *, all_topics: bool = False, timeout: float | None = None) -> Events:
        """Subscribe to changes of the cluster and of the connections.

        While the returned object exists, metadata is refreshed every ``events.metadata.max.age.ms``
        (5 s), so that an idle client notices changes.

        Args:
            all_topics: whether to include all topics, new ones too, instead of only those that this
                client uses. Existing topics cause no events.
            timeout: seconds for looking up the topics. Default: ``default.api.timeout.ms``.

        Raises:
            TimeoutError: the cluster did not respond in time.
        """

    def client_instance_id(self, *, timeout: float | None = None) -> str:
        """Return the id under which the cluster receives the metrics of this client (KIP-714).

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

    @overload
    def list_offsets(
        self,
        specs: Mapping[tuple[str, int], str | int | datetime],
        *,
        isolation_level: str | None = None,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[tuple[str, int], OffsetAndTimestamp]:
        """Look up offsets of partitions (Kafka's ListOffsets).

        Args:
            specs: by ``(topic, partition)``, which offset: ``"earliest"``, ``"latest"``,
                ``"max_timestamp"`` (KIP-734), ``"earliest_local"`` or ``"latest_tiered"`` (tiered
                storage), ``"earliest_pending_upload"`` (KIP-1023), or a time: the first record with
                this time or a later one, as an aware ``datetime`` or in ms since 1970.
            isolation_level: ``read_uncommitted`` or ``read_committed``. With ``read_committed``,
                ``"latest"`` is the last stable offset: the end, or the first record of an open
                transaction. Default: the client's ``isolation.level``.
            errors: what to do with the error of one partition: ``"raise"`` the first one, or
                ``"return"`` each in place of the offset.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The offsets by ``(topic, partition)``; an offset of None means that no record matches.

        Raises:
            AuthorizationError: the principal may not describe a topic.
            BrokerError: a broker does not support the name of an offset.
            ConfigError: a specification or the isolation level is invalid.
            UnknownTopicError: a topic or a partition does not exist.
            TimeoutError: a leader did not respond in time.
        """
    @overload
    def list_offsets(
        self,
        specs: Mapping[tuple[str, int], str | int | datetime],
        *,
        isolation_level: str | None = None,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[tuple[str, int], OffsetAndTimestamp | KafkaError]:
        """Look up offsets of partitions (Kafka's ListOffsets).

        Args:
            specs: by ``(topic, partition)``, which offset: ``"earliest"``, ``"latest"``,
                ``"max_timestamp"`` (KIP-734), ``"earliest_local"`` or ``"latest_tiered"`` (tiered
                storage), ``"earliest_pending_upload"`` (KIP-1023), or a time: the first record with
                this time or a later one, as an aware ``datetime`` or in ms since 1970.
            isolation_level: ``read_uncommitted`` or ``read_committed``. With ``read_committed``,
                ``"latest"`` is the last stable offset: the end, or the first record of an open
                transaction. Default: the client's ``isolation.level``.
            errors: what to do with the error of one partition: ``"raise"`` the first one, or
                ``"return"`` each in place of the offset.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The offsets by ``(topic, partition)``; an offset of None means that no record matches.

        Raises:
            AuthorizationError: the principal may not describe a topic.
            BrokerError: a broker does not support the name of an offset.
            ConfigError: a specification or the isolation level is invalid.
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
        key_format: ColumnFormat | None = None,
        value_format: ColumnFormat | None = None,
    ) -> Scan:
        """Read ranges of offsets as Arrow batches; ``ottla.scan`` takes topics and times.

        Args:
            ranges: ``(topic, partition, start, end)``; ``end`` is exclusive. With an end of None,
                the scan follows the log until it is closed.
            columns: the columns to read, in this order. Default: all but ``headers``.
            include_headers: whether to add ``headers`` to the default columns.
            max_rows: the maximum number of rows in a batch.
            target_bytes: the number of bytes of keys, values and headers that ends a batch.
            fail_on_data_loss: whether to raise if records of a range were deleted. Otherwise
                they are skipped with a warning.
            timeout: seconds without progress after which the scan fails. Default:
                ``default.api.timeout.ms``.
            key_format: how keys with a schema are decoded, such as ``ottla.schema.Avro(registry)``.
                Default: keys stay bytes.
            value_format: the same for values.

        Returns:
            A scan, which starts reading in the background. Iterating over it raises read errors.

        Raises:
            ConfigError: a range, a column or a limit is invalid.
            SchemaError: there is no schema to read with, or it cannot be used.
        """

    def close(self, *, timeout: float | None = None) -> None:
        """Close all connections. Calls that wait for a response fail with ``ClosedError``.

        After ``client_instance_id()``, it first pushes the last metrics, for a second at most;
        nothing else waits.

        Args:
            timeout: seconds for all of this. Default: 30.
        """

    def __enter__(self) -> Client: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

@final
class AsyncClient(ClientBase):
    """A client of one Kafka cluster for asyncio; it mirrors ``Client``.

    Methods that block there return a native future of the running loop here and use no thread.
    Cancelling the future cancels the request. Several loops may use one client.

    Creating a client does not connect it: ``async with``, ``connect()`` or the first call does.

    Args:
        bootstrap: addresses as ``host:port``, as a string or a list (``bootstrap.servers``); one
            that responds is enough.
        config: configuration by Kafka's dotted names. Keyword arguments are the same names with
            underscores and take precedence. See ``Client``.
        timeout: seconds for ``connect()`` to find the cluster, in which servers that fail are tried
            again. Default: ``default.api.timeout.ms``, 60 s.

    Raises:
        ConfigError: a key or a value is invalid.
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
        """Connect to the cluster, unless it is connected already.

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
            topics: topics that the snapshot must contain. Unknown topics are looked up, and
                refreshed until they were unused for ``metadata.max.idle.ms`` (5 minutes).
            all_topics: whether to look up all topics of the cluster, for this call only.
            refresh: whether to request new metadata even if everything is cached.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            UnknownTopicError: a topic does not exist.
            TimeoutError: the cluster did not respond in time.
        """

    def topic_names(self, *, timeout: float | None = None) -> Future[list[str]]:
        """Return the names of all topics, internal ones included, in alphabetical order.

        Args:
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
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
                client uses. Existing topics cause no events.
            timeout: seconds for looking up the topics. Default: ``default.api.timeout.ms``.

        Raises:
            TimeoutError: the cluster did not respond in time.
        """

    def client_instance_id(self, *, timeout: float | None = None) -> Future[str]:
        """Return the id under which the cluster receives the metrics of this client (KIP-714).

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

    @overload
    def list_offsets(
        self,
        specs: Mapping[tuple[str, int], str | int | datetime],
        *,
        isolation_level: str | None = None,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> Future[dict[tuple[str, int], OffsetAndTimestamp]]:
        """Look up offsets of partitions (Kafka's ListOffsets).

        Args:
            specs: by ``(topic, partition)``, which offset: ``"earliest"``, ``"latest"``,
                ``"max_timestamp"`` (KIP-734), ``"earliest_local"`` or ``"latest_tiered"`` (tiered
                storage), ``"earliest_pending_upload"`` (KIP-1023), or a time: the first record with
                this time or a later one, as an aware ``datetime`` or in ms since 1970.
            isolation_level: ``read_uncommitted`` or ``read_committed``. With ``read_committed``,
                ``"latest"`` is the last stable offset: the end, or the first record of an open
                transaction. Default: the client's ``isolation.level``.
            errors: what to do with the error of one partition: ``"raise"`` the first one, or
                ``"return"`` each in place of the offset.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The offsets by ``(topic, partition)``; an offset of None means that no record matches.

        Raises:
            AuthorizationError: the principal may not describe a topic.
            BrokerError: a broker does not support the name of an offset.
            ConfigError: a specification or the isolation level is invalid.
            UnknownTopicError: a topic or a partition does not exist.
            TimeoutError: a leader did not respond in time.
        """
    @overload
    def list_offsets(
        self,
        specs: Mapping[tuple[str, int], str | int | datetime],
        *,
        isolation_level: str | None = None,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> Future[dict[tuple[str, int], OffsetAndTimestamp | KafkaError]]:
        """Look up offsets of partitions (Kafka's ListOffsets).

        Args:
            specs: by ``(topic, partition)``, which offset: ``"earliest"``, ``"latest"``,
                ``"max_timestamp"`` (KIP-734), ``"earliest_local"`` or ``"latest_tiered"`` (tiered
                storage), ``"earliest_pending_upload"`` (KIP-1023), or a time: the first record with
                this time or a later one, as an aware ``datetime`` or in ms since 1970.
            isolation_level: ``read_uncommitted`` or ``read_committed``. With ``read_committed``,
                ``"latest"`` is the last stable offset: the end, or the first record of an open
                transaction. Default: the client's ``isolation.level``.
            errors: what to do with the error of one partition: ``"raise"`` the first one, or
                ``"return"`` each in place of the offset.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The offsets by ``(topic, partition)``; an offset of None means that no record matches.

        Raises:
            AuthorizationError: the principal may not describe a topic.
            BrokerError: a broker does not support the name of an offset.
            ConfigError: a specification or the isolation level is invalid.
            UnknownTopicError: a topic or a partition does not exist.
            TimeoutError: a leader did not respond in time.
        """

    def _scan(
        self,
        ranges: Iterable[tuple[str, int, int, int | None]],
        *,
        columns: Sequence[str] | None,
        include_headers: bool,
        max_rows: int,
        target_bytes: int,
        fail_on_data_loss: bool,
        timeout: float | None,
        key_format: ColumnFormat | None,
        value_format: ColumnFormat | None,
    ) -> Future[AsyncScanBase]: ...
    def close(self, *, timeout: float | None = None) -> Future[None]:
        """Close all connections. Calls that wait for a response fail with ``ClosedError``.

        After ``client_instance_id()``, it first pushes the last metrics, for a second at most;
        nothing else waits.

        Args:
            timeout: seconds for all of this. Default: 30.
        """

    def __aenter__(self) -> Future[AsyncClient]: ...
    def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Future[None]: ...

def client_of(handle: object) -> Client:
    """Return a ``Client`` over the engine of a client, a producer or a consumer.

    See ``async_client_of``.

    Args:
        handle: a client, a producer, a consumer or a share consumer, blocking or for asyncio.

    Raises:
        ClosedError: the handle was closed.
        TypeError: the handle is another object.
    """

def async_client_of(handle: object) -> AsyncClient:
    """Return an ``AsyncClient`` over the engine of a client, a producer or a consumer.

    It shares the metadata and the connections; it is not a second client. Dropping it closes
    nothing. Closing either closes the engine for both; but on a shared client, closing a producer
    or a consumer leaves the client open. Its requests use the connections that all users of a
    client share, and ``connections()`` lists all of the client's connections, those of consumers
    on a shared client too.

    Args:
        handle: a client, a producer, a consumer or a share consumer, blocking or for asyncio.

    Raises:
        ClosedError: the handle was closed.
        TypeError: the handle is another object.
    """
