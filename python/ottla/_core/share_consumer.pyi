"""The blocking share consumer."""

from collections.abc import Iterator, Mapping, Sequence
from types import GenericAlias, TracebackType
from typing import Any, Generic, final

from typing_extensions import Self, TypeVar, Unpack

from ottla._core.aliases import DeserializerLike, TopicPartition
from ottla._core.client import AsyncClient, Client
from ottla._core.records import Record, RecordBatch
from ottla._core.share_consumer_base import ShareConsumerBase
from ottla.config_types import ConsumerConfig
from ottla.errors import KafkaError

# Of a consumer: what its deserializers return. Its records have None for null.
_K = TypeVar("_K", covariant=True, default=bytes)
_V = TypeVar("_V", covariant=True, default=bytes)

@final
class ShareConsumer(ShareConsumerBase, Generic[_K, _V]):
    """A member of a share group (KIP-932): iterate over it or ``poll()`` it.

    The members of a share group read the same partitions together: each acquires records, under a
    lock with a time limit, and acknowledges them one by one. So a group may have more members than
    partitions, and a record that fails is delivered again, to any member. Kafka 4.2 or newer.

    With ``share_acknowledgement_mode="implicit"``, the default, the next poll or a commit accepts
    the records of the last poll. With ``"explicit"``, the application acknowledges each record
    before the next poll.

    Use it in a ``with`` block, or ``close()`` it. Both release the records that were not
    acknowledged, those of the last poll included: call ``commit()`` first if they are processed.
    One thread polls at a time; any thread may call ``wakeup``.

    Args:
        bootstrap: addresses as ``host:port``, or a ``Client`` or ``AsyncClient`` whose metadata to
            share; the consumer opens its own connections.
        config: configuration by Kafka's dotted names; ``group.id`` is required. Keyword arguments
            are the same names with underscores and take precedence. See ``Client``.
        topics: topics to subscribe to, as with ``subscribe(topics)``. Default: none.
        key_deserializer: converts the bytes of keys; see ``ottla.deserializers``; or a format of
            ``ottla.schema``. Arrow columns keep the bytes. Default: keys stay bytes.
        value_deserializer: the same for values.
        timeout: seconds to find the cluster, as for ``Client``.
        connect: whether to connect now; otherwise the first poll does, as of a ``Consumer``.

    Raises:
        AuthenticationError: the credentials, or the certificate of either side, were rejected.
        BootstrapError: no bootstrap server could be used; the message lists each with its cause.
        ConfigError: a key or a value is invalid, ``group.id`` is missing, or a client is combined
            with configuration.
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
        connect: bool = True,
        **kwargs: Unpack[ConsumerConfig],
    ) -> ShareConsumer[_K, _V]: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    def poll(
        self, *, timeout: float = 1.0, max_records: int | None = None
    ) -> list[Record[_K | None, _V | None]]:
        """Acquire and return records as soon as there are any, or an empty list after the timeout.

        First the records of the last poll are acknowledged. Records whose lock was renewed are
        returned again.

        Args:
            timeout: seconds to wait. Default: 1.
            max_records: the maximum number of records. Default: ``max.poll.records``, 500.
                A list also ends after about 16 MB of records.

        Raises:
            SerializationError: a record cannot be deserialized. It is released, unless
                ``acknowledge_offsets`` says otherwise before the next poll.
            StateError: there is no subscription, another thread or task polls, or records of the
                last poll are not acknowledged with ``share.acknowledgement.mode=explicit``.
            UnsupportedVersionError: the brokers have no share groups.
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
    ) -> RecordBatch | None:
        """Acquire and return records as Arrow columns, or None after the timeout.

        First the records of the last poll are acknowledged.

        Args:
            timeout: seconds to wait. Default: 1.
            max_rows: the maximum number of rows.
            columns: the columns, in this order: any of ``key``, ``value``, ``topic``,
                ``partition``, ``offset``, ``timestamp``, ``timestampType`` and ``headers``.
                Default: all but ``headers``. The column ``deliveryCount`` (int16) is always added
                as the last one: 1 for a record that is delivered for the first time.
            include_headers: whether to add ``headers`` to the default columns.

        Raises:
            ConfigError: a column does not exist or is listed twice.
            KafkaError: as for ``poll``, except ``SerializationError``: columns keep the bytes.
        """
    def __iter__(self) -> Iterator[Record[_K | None, _V | None]]: ...
    def __next__(self) -> Record[_K | None, _V | None]: ...
    def commit(self, *, timeout: float | None = None) -> dict[TopicPartition, KafkaError | None]:
        """Send the acknowledgements of delivered records, and wait for the results.

        With ``share.acknowledgement.mode=implicit`` it accepts the records of the last poll; with
        ``explicit`` it sends what was acknowledged.

        Args:
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The result by ``(topic, partition)``: None, or the ``KafkaError`` for which records of
            the partition were not acknowledged, or may not have been; those are delivered again.
        """
    def close(self, *, timeout: float = 30.0) -> None:
        """Send pending acknowledgements, release all other records, and leave the group.

        With ``share.acknowledgement.mode=implicit``, the records of the last poll are released and
        delivered again, to any member: only the next poll or ``commit()`` accepts them.

        A poll in progress ends with ``ClosedError``. Closing a closed consumer has no effect. In
        blocking code a signal handler may call it, also while this thread polls: the poll ends
        after the handler with its exception, or else with ``ClosedError``.

        Args:
            timeout: seconds for all of this. Default: 30.

        Raises:
            TimeoutError: a broker did not respond in time; the consumer is closed.
            StateError: a callback of this consumer called it.
        """
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
