"""``Consumer``: confluent-kafka's consumer over ottla's.

Invariants: callbacks run in ``poll``, ``consume``, ``unsubscribe`` and ``close`` only, and their
exceptions are those of the call; errors of reading are messages with an error; after ``close`` each
call raises ``RuntimeError``.
"""

from __future__ import annotations

import weakref
from types import TracebackType
from typing import Any

import ottla
from ottla import errors
from ottla.compat.confluent_kafka._commits import offset_of, offsets_of
from ottla.compat.confluent_kafka._config import arguments
from ottla.compat.confluent_kafka._constants import OFFSET_INVALID
from ottla.compat.confluent_kafka._consumer_parts import ConsumerParts
from ottla.compat.confluent_kafka._errors import failure, kafka_exception, translated
from ottla.compat.confluent_kafka._handle import Cluster, ClusterCalls, seconds_of
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._messages import Message
from ottla.compat.confluent_kafka._partitions import key_of, partition_of, partitions_of
from ottla.compat.confluent_kafka._subscription import subscription_of
from ottla.compat.confluent_kafka._topic_partition import TopicPartition

_UNSET: Any = object()


class Consumer(ClusterCalls):
    """A consumer of a group, or of partitions that the application assigns.

    Args:
        config: librdkafka's configuration with ``group.id``, and the callbacks ``error_cb``,
            ``stats_cb``, ``throttle_cb``, ``on_commit``, ``oauth_cb`` and a ``logger``. Keyword
            arguments are more of it.

    Raises:
        KafkaException: a key or a value is invalid.
        ValueError: there is no ``group.id``.
        TypeError: there is no configuration, or a callback is not callable.
    """

    _parts: ConsumerParts | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self._parts is not None:
            raise RuntimeError("Consumer already initialized")
        self._parts = ConsumerParts(arguments(args, kwargs), weakref.ref(self))

    def _open(self) -> ConsumerParts:
        if self._parts is None:
            raise RuntimeError("Consumer closed")
        return self._parts

    def _cluster(self) -> Cluster | None:
        return None if self._parts is None else self._parts.cluster

    def subscribe(
        self,
        topics: list[str],
        on_assign: Any = _UNSET,
        on_revoke: Any = _UNSET,
        on_lost: Any = _UNSET,
    ) -> None:
        """Subscribe to topics; a name that begins with ``^`` is a regular expression.

        Args:
            topics: the topics, instead of those before.
            on_assign: called with the consumer and the partitions that were assigned.
            on_revoke: called with the consumer and the partitions that are given up.
            on_lost: called with partitions that another member may own. Default: ``on_revoke``.
        """
        parts = self._open()
        subscription = subscription_of(topics)
        callbacks = {"on_assign": on_assign, "on_revoke": on_revoke, "on_lost": on_lost}
        for name, callback in callbacks.items():
            if callback is _UNSET:
                callbacks[name] = None
            elif not callable(callback):
                raise TypeError(f"{name} expects a callable")
        parts.subscribe(subscription, *callbacks.values())

    def unsubscribe(self) -> None:
        """Leave the group, and give up all partitions."""
        with translated():
            self._open().unsubscribe()

    def poll(self, timeout: float = -1) -> Message | None:
        """Serve callbacks, and return a message or an error.

        Args:
            timeout: seconds to wait. Default: no limit.

        Returns:
            A message, whose ``error()`` the application must check, or None after the timeout.
        """
        parts = self._open()
        try:
            # Most messages are there already, and need nothing else.
            if (message := parts.buffered()) is not None:
                return message
        except errors.KafkaError:
            pass  # the poll says why
        with translated():
            found = parts.poll(1, seconds_of(timeout))
        return found[0] if found else None

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Serve callbacks, and return up to ``num_messages`` messages and errors.

        Args:
            num_messages: the maximum number, up to a million.
            timeout: seconds to wait for the first. Default: no limit.
        """
        parts = self._open()
        if not 0 <= num_messages <= 1_000_000:
            raise ValueError("num_messages must be between 0 and 1000000 (1M)")
        with translated():
            return parts.consume(num_messages, seconds_of(timeout))

    def assign(self, partitions: list[TopicPartition]) -> None:
        """Read exactly these partitions, from their offsets."""
        parts = self._open()
        wanted = partitions_of(partitions)
        if not parts.assignment.is_subscribed:
            parts.commits.commit_before_giving_up(parts.consumer.assignment())
        parts.assignment.replace(wanted)

    def unassign(self) -> None:
        """Stop reading all partitions."""
        self.assign([])

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """Read these partitions too."""
        parts = self._open()
        parts.assignment.add(partitions_of(partitions))

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        """Stop reading these partitions."""
        parts = self._open()
        unwanted = partitions_of(partitions)
        if not parts.assignment.is_subscribed:
            parts.commits.commit_before_giving_up(map(key_of, unwanted))
        parts.assignment.remove(unwanted)

    def assignment(self) -> list[TopicPartition]:
        """Return the assigned partitions."""
        return self._open().assignment.partitions()

    def commit(
        self,
        message: Message | None = None,
        offsets: list[TopicPartition] | None = None,
        asynchronous: bool = True,
        **kwargs: Any,
    ) -> list[TopicPartition] | None:
        """Commit the offset after a message, some offsets, or the stored offsets.

        Args:
            message: a message that was processed.
            offsets: the offsets of the next messages to read.
            asynchronous: whether to return at once; ``on_commit`` then gets the result.

        Returns:
            The committed offsets; None with ``asynchronous``.
        """
        parts = self._open()
        asynchronous = bool(kwargs.pop("async", asynchronous))
        if kwargs:
            raise TypeError(f"{next(iter(kwargs))!r} is an invalid keyword argument")
        if message is not None and offsets is not None:
            raise ValueError("message and offsets are mutually exclusive")
        asked = list(offsets or [])
        wanted = None
        if offsets is not None:
            wanted = offsets_of(offsets)
        elif message is not None:
            wanted = offset_of(message, "commit")
        else:
            asked = self.assignment()
        if asynchronous:
            parts.commits.commit_async(wanted, asked)
            return None
        return parts.commits.commit(wanted)

    def store_offsets(
        self, message: Message | None = None, offsets: list[TopicPartition] | None = None
    ) -> None:
        """Store the offset after a message, or offsets, for the next commit of stored offsets."""
        parts = self._open()
        if message is not None and offsets is not None:
            raise ValueError("message and offsets are mutually exclusive")
        if message is None and offsets is None:
            raise ValueError("expected either message or offsets")
        wanted = offset_of(message, "store") if offsets is None else offsets_of(offsets)
        if parts.settings.auto_offset_store:
            reason = "StoreOffsets failed: enable.auto.offset.store must be false"
            raise failure(KafkaError._INVALID_ARG, reason)
        asked = [] if offsets is None else [key_of(item) for item in offsets]
        stored = [parts.store.store(key, offset) for key, offset in wanted.items()]
        if (wanted or asked) and not any(stored) and not _owns_any(parts, asked):
            raise failure(KafkaError._UNKNOWN_PARTITION, "StoreOffsets failed: not assigned")

    def committed(
        self, partitions: list[TopicPartition], timeout: float = -1
    ) -> list[TopicPartition]:
        """Return partitions with the offsets that the group has committed."""
        parts = self._open()
        return parts.watermarks.committed(partitions_of(partitions), seconds_of(timeout))

    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Return partitions with the offset after the last message that was returned."""
        reading = self._open().reading
        found = []
        for item in partitions_of(partitions):
            offset = reading.position(key_of(item))
            found.append(
                TopicPartition(*key_of(item), OFFSET_INVALID if offset is None else offset)
            )
        return found

    def seek(self, partition: TopicPartition) -> None:
        """Continue reading a partition at its offset."""
        parts = self._open()
        wanted = partition_of(partition)
        if not parts.settings.has_brokers and key_of(wanted) in parts.consumer.assignment():
            raise failure(KafkaError._STATE)  # librdkafka seeks once a broker leads the partition
        parts.assignment.seek(wanted)

    def pause(self, partitions: list[TopicPartition]) -> None:
        """Stop returning messages of partitions."""
        self._open().assignment.pause(partitions_of(partitions))

    def resume(self, partitions: list[TopicPartition]) -> None:
        """Return messages of partitions again."""
        self._open().assignment.resume(partitions_of(partitions))

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float = -1, cached: bool = False
    ) -> tuple[int, int]:
        """Return the first offset and the end of a partition.

        Args:
            partition: the partition.
            timeout: seconds. Default: no limit.
            cached: whether to return what is known without a request.
        """
        watermarks = self._open().watermarks
        wanted = partition_of(partition)
        return (
            watermarks.cached(wanted) if cached else watermarks.query(wanted, seconds_of(timeout))
        )

    def offsets_for_times(
        self, partitions: list[TopicPartition], timeout: float = -1
    ) -> list[TopicPartition]:
        """Return the first offsets at or after the milliseconds in ``offset``."""
        parts = self._open()
        return parts.watermarks.for_times(partitions_of(partitions), seconds_of(timeout))

    def memberid(self) -> str | None:
        """Return this member's id; None before it is a member."""
        return self._open().consumer.member_id or None

    def consumer_group_metadata(self) -> ottla.GroupMetadata:
        """Return what ``Producer.send_offsets_to_transaction`` needs to know of this member."""
        return self._open().consumer.group_metadata()

    def close(self) -> None:
        """Commit what is stored (with ``enable.auto.commit``), leave the group, and close."""
        if self._parts is None:
            return
        try:
            self._parts.close()
        except errors.KafkaError as error:
            raise kafka_exception(error) from error
        finally:
            self._parts = None  # callbacks of the end may still use the consumer

    def __enter__(self) -> Consumer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if self._parts is not None:
            self._parts.abandon()


def _owns_any(parts: ConsumerParts, keys: list[tuple[str, int]]) -> bool:
    assigned = parts.consumer.assignment()
    return any(key in assigned for key in keys)
