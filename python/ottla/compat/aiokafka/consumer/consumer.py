"""``AIOKafkaConsumer`` over ``ottla.AsyncConsumer``.

It takes aiokafka's arguments, and reads; ``_lifecycle`` has the calls that start, stop and
subscribe, ``_positions``, ``_commits`` and ``_lookups`` those about offsets. Invariant: nothing
connects before ``start``.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Sequence
from ssl import SSLContext
from typing import Any

from ottla.compat.aiokafka._connection_options import log, warn_of_api_version
from ottla.compat.aiokafka._version import __version__
from ottla.compat.aiokafka.abc import AbstractTokenProvider
from ottla.compat.aiokafka.client import AIOKafkaClient
from ottla.compat.aiokafka.consumer._lifecycle import ConsumerLifecycle, topic_set
from ottla.compat.aiokafka.consumer._options import ConsumerOptions
from ottla.compat.aiokafka.consumer._records import deserializer
from ottla.compat.aiokafka.consumer._subscription_state import Subscription, SubscriptionState
from ottla.compat.aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from ottla.compat.aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from ottla.compat.aiokafka.errors import ConsumerStoppedError, RecordTooLargeError
from ottla.compat.aiokafka.structs import ConsumerRecord, TopicPartition
from ottla.compat.aiokafka.util import get_running_loop

__all__ = ["AIOKafkaConsumer"]


class AIOKafkaConsumer(ConsumerLifecycle):
    """Reads records, alone or as a member of a group.

    Create it while its loop runs, ``await start()``, and ``await stop()`` at the end; ``async
    with`` does both. The arguments of all clients are described at ``AIOKafkaClient``.

    Args:
        topics: topics to subscribe to. Default: none.
        group_id: the group. Default: None, all partitions of the topics without commits.
        group_instance_id: the name of a static member.
        key_deserializer: a function of the bytes of a key, or None for null.
        value_deserializer: the same for values.
        fetch_max_wait_ms: milliseconds for which a broker waits for ``fetch_min_bytes``.
        fetch_max_bytes: the largest response of a broker.
        fetch_min_bytes: bytes that a broker waits for.
        max_partition_fetch_bytes: the most of one partition in a response.
        auto_offset_reset: ``earliest``, ``latest`` or ``none``, without a committed offset.
        enable_auto_commit: whether to commit positions every ``auto_commit_interval_ms``.
        auto_commit_interval_ms: milliseconds between commits.
        check_crcs: whether to verify the checksums of batches.
        partition_assignment_strategy: assignors, in order of preference.
        max_poll_interval_ms: the longest time between two reads; after it, the member leaves.
        rebalance_timeout_ms: for how long a rebalance waits for this member. Default:
            ``session_timeout_ms``.
        session_timeout_ms: the time without heartbeats after which a member counts as dead.
        heartbeat_interval_ms: milliseconds between heartbeats.
        consumer_timeout_ms: without effect.
        max_poll_records: the most records of a ``getmany``. Default: no limit.
        exclude_internal_topics: whether a pattern matches none of Kafka's own topics.
        isolation_level: ``read_uncommitted`` or ``read_committed``.
        client_rack: the rack of replicas to prefer.
    """

    def __init__(
        self,
        *topics: str,
        loop: asyncio.AbstractEventLoop | None = None,
        bootstrap_servers: str | Sequence[str] = "localhost",
        client_id: str = "aiokafka-" + __version__,
        group_id: str | None = None,
        group_instance_id: str | None = None,
        key_deserializer: Callable[[Any], Any] | None = None,
        value_deserializer: Callable[[Any], Any] | None = None,
        fetch_max_wait_ms: int = 500,
        fetch_max_bytes: int = 52428800,
        fetch_min_bytes: int = 1,
        max_partition_fetch_bytes: int = 1 * 1024 * 1024,
        request_timeout_ms: int = 40 * 1000,
        retry_backoff_ms: int = 100,
        auto_offset_reset: str = "latest",
        enable_auto_commit: bool = True,
        auto_commit_interval_ms: int = 5000,
        check_crcs: bool = True,
        metadata_max_age_ms: int = 5 * 60 * 1000,
        partition_assignment_strategy: Sequence[type[AbstractPartitionAssignor]] = (
            RoundRobinPartitionAssignor,
        ),
        max_poll_interval_ms: int = 300000,
        rebalance_timeout_ms: int | None = None,
        session_timeout_ms: int = 10000,
        heartbeat_interval_ms: int = 3000,
        consumer_timeout_ms: int = 200,
        max_poll_records: int | None = None,
        ssl_context: SSLContext | None = None,
        security_protocol: str = "PLAINTEXT",
        api_version: str | None = None,
        exclude_internal_topics: bool = True,
        connections_max_idle_ms: int | None = 540000,
        isolation_level: str = "read_uncommitted",
        sasl_mechanism: str = "PLAIN",
        sasl_plain_password: str | None = None,
        sasl_plain_username: str | None = None,
        sasl_kerberos_service_name: str = "kafka",
        sasl_kerberos_domain_name: str | None = None,
        sasl_oauth_token_provider: AbstractTokenProvider | str | None = None,
        client_rack: str | None = None,
    ) -> None:
        del consumer_timeout_ms
        self._loop = _loop(loop)
        warn_of_api_version(api_version)
        _require_positive("max_poll_records", max_poll_records)
        self._options = ConsumerOptions(
            group_id=group_id,
            group_instance_id=group_instance_id,
            fetch_max_wait_ms=fetch_max_wait_ms,
            fetch_max_bytes=fetch_max_bytes,
            fetch_min_bytes=fetch_min_bytes,
            max_partition_fetch_bytes=max_partition_fetch_bytes,
            auto_offset_reset=auto_offset_reset,
            check_crcs=check_crcs,
            partition_assignment_strategy=partition_assignment_strategy,
            max_poll_interval_ms=max_poll_interval_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            session_timeout_ms=session_timeout_ms,
            heartbeat_interval_ms=heartbeat_interval_ms,
            exclude_internal_topics=exclude_internal_topics,
            isolation_level=isolation_level,
            client_rack=client_rack,
        )
        self._client = AIOKafkaClient(
            loop=self._loop,
            bootstrap_servers=bootstrap_servers,
            client_id=client_id,
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
        self._group_id = group_id
        self._group_instance_id = group_instance_id
        self._isolation_level = isolation_level
        self._request_timeout_ms = request_timeout_ms
        self._max_poll_records = max_poll_records
        self._auto_commit_interval = (
            auto_commit_interval_ms / 1000 if enable_auto_commit and group_id is not None else None
        )
        self._deserialize = deserializer(key_deserializer, value_deserializer)
        self._subscription = SubscriptionState(self._loop)
        self._closed = False
        if topics:
            self._subscription.change(Subscription(topics=topic_set(topics)))

    def __aiter__(self) -> AIOKafkaConsumer:
        """Return this object.

        Raises:
            ConsumerStoppedError: the consumer was stopped.
        """
        if self._closed:
            raise ConsumerStoppedError
        return self

    async def __anext__(self) -> ConsumerRecord[Any, Any]:
        """Return the next record; the iteration ends when the consumer is stopped."""
        while True:
            try:
                return await self.getone()
            except ConsumerStoppedError:
                raise StopAsyncIteration from None
            except RecordTooLargeError:
                log.exception("a record is too large to be read")

    async def getone(self, *partitions: TopicPartition) -> ConsumerRecord[Any, Any]:
        """Wait for a record and return it. A cancelled call loses no record.

        Args:
            partitions: of these partitions only. Default: of all.

        Raises:
            ConsumerStoppedError: the consumer was stopped before or during the call.
            NoOffsetForPartitionError: nothing is committed, and ``auto_offset_reset`` is ``none``.
            OffsetOutOfRangeError: the position is not in the log, likewise.
            KafkaError: another error of reading or of the group.
        """
        if self._closed:
            raise ConsumerStoppedError
        if partitions:
            _require_partitions(partitions)
        reader = self._reader()
        record = reader.take_record(partitions)
        return await reader.next_record(partitions) if record is None else record

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord[Any, Any]]]:
        """Return records by partition, as soon as there are any, or an empty dict.

        Args:
            partitions: of these partitions only. Default: of all.
            timeout_ms: milliseconds to wait. Default: only what has arrived.
            max_records: at most so many. Default: ``max_poll_records``.

        Raises:
            ConsumerStoppedError: the consumer was stopped before the call.
            KafkaError: as for ``getone``.
            ValueError: ``max_records`` is no positive integer.
        """
        if self._closed:
            raise ConsumerStoppedError
        _require_partitions(partitions)
        _require_positive("max_records", max_records)
        return await self._reader().fetched_records(
            partitions, timeout_ms / 1000, max_records or self._max_poll_records
        )

    def pause(self, *partitions: TopicPartition) -> None:
        """Stop returning records of partitions until ``resume``.

        Raises:
            IllegalStateError: a partition is not assigned.
            TypeError: a partition is no ``TopicPartition``.
        """
        for partition in self._known(partitions):
            self._reader().pause(partition)

    def paused(self) -> set[TopicPartition]:
        """Return the paused partitions."""
        return self._fetcher.paused() if self._fetcher is not None else set()

    def resume(self, *partitions: TopicPartition) -> None:
        """Return records of paused partitions again; see ``pause``."""
        for partition in self._known(partitions):
            self._reader().resume(partition)

    def _known(self, partitions: Sequence[TopicPartition]) -> Sequence[TopicPartition]:
        if not all(isinstance(partition, TopicPartition) for partition in partitions):
            raise TypeError("partitions must be TopicPartition namedtuples")
        self._require_assigned(partitions)
        return partitions


def _loop(loop: asyncio.AbstractEventLoop | None) -> asyncio.AbstractEventLoop:
    if loop is None:
        return get_running_loop()
    warnings.warn("The loop argument is not used.", DeprecationWarning, stacklevel=3)
    return loop


def _require_positive(name: str, number: object) -> None:
    if number is not None and (not isinstance(number, int) or number < 1):
        raise ValueError(f"`{name}` should be a positive integer, not {number!r}")


def _require_partitions(partitions: Sequence[TopicPartition]) -> None:
    if not all(isinstance(partition, TopicPartition) for partition in partitions):
        raise AssertionError("partitions must be TopicPartition instances")
