"""``ShareConsumer``: confluent-kafka's share consumer over ottla's.

Invariants: one thread uses it at a time, and another one gets an error at once; a record is
acknowledged only as the application, or its mode, says; callbacks run in calls of the application.
"""

from __future__ import annotations

import operator
from types import TracebackType
from typing import Any

from ottla.compat.confluent_kafka._config import arguments
from ottla.compat.confluent_kafka._handle import seconds_of
from ottla.compat.confluent_kafka._kafka_error import IllegalStateException, KafkaException
from ottla.compat.confluent_kafka._messages import Message
from ottla.compat.confluent_kafka._model import AcknowledgeType, Messages
from ottla.compat.confluent_kafka._share_parts import ShareParts
from ottla.compat.confluent_kafka._topic_partition import TopicPartition


class ShareConsumer:
    """A member of a share group (KIP-932).

    Args:
        config: librdkafka's configuration with ``group.id``, and callbacks as for ``Consumer``.
            Keyword arguments are more of it.

    Raises:
        ValueError: there is no ``group.id``, or the consumer cannot be made.
        KafkaException: a key or a value is invalid.
        TypeError: there is no configuration, or a callback is not callable.
    """

    _parts: ShareParts | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self._parts is not None:
            raise RuntimeError("ShareConsumer already initialized")
        config = arguments(args, kwargs)
        if "on_commit" in config:
            raise ValueError("on_commit is not supported on ShareConsumer")
        self._parts = ShareParts(config)

    def _open(self) -> ShareParts:
        if self._parts is None:
            raise IllegalStateException("Share consumer closed")
        return self._parts

    def subscribe(self, topics: list[str]) -> None:
        """Subscribe to topics, instead of those before; an empty list unsubscribes."""
        parts = self._open()
        if not isinstance(topics, list):
            raise TypeError("expected list of topic unicode strings")
        names = [str(topic) for topic in topics]
        if "" in names or len(set(names)) < len(names):
            raise ValueError("Failed to subscribe: a topic is empty, or occurs twice")
        with parts.owned():
            parts.subscribe(names)

    def unsubscribe(self) -> None:
        """Leave the group."""
        parts = self._open()
        with parts.owned():
            parts.subscribe([])

    def subscription(self) -> list[str]:
        """Return the topics that are subscribed to."""
        parts = self._open()
        with parts.owned():
            return parts.subscription()

    def poll(self, timeout: float = -1) -> Messages:
        """Serve callbacks, and return acquired messages as soon as there are any.

        Args:
            timeout: seconds to wait. Default: no limit.

        Raises:
            IllegalStateException: nothing is subscribed to, or messages of the last poll are not
                acknowledged with ``share.acknowledgement.mode=explicit``.
        """
        parts = self._open()
        seconds = seconds_of(timeout)
        with parts.owned():
            return Messages._from_list(parts.poll(seconds))

    def acknowledge(
        self, message: Message, ack_type: AcknowledgeType = AcknowledgeType.ACCEPT
    ) -> None:
        """Say what becomes of a message of the last poll; the next call of the consumer sends it.

        Raises:
            IllegalStateException: the last poll did not return it, or the mode is ``implicit``.
        """
        parts = self._open()
        if not isinstance(message, Message):
            raise TypeError(f"argument 1 must be Message, not {type(message).__name__}")
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if topic is None or partition is None or offset is None:
            raise ValueError("Failed to acknowledge: the message has no topic or offset")
        with parts.owned():
            parts.acknowledge(topic, partition, offset, operator.index(ack_type))

    def acknowledge_offset(
        self,
        topic: str,
        partition: int,
        offset: int,
        ack_type: AcknowledgeType = AcknowledgeType.ACCEPT,
    ) -> None:
        """Say what becomes of the message at an offset, as ``acknowledge`` does."""
        parts = self._open()
        if not isinstance(topic, str):
            raise TypeError(f"argument 1 must be str, not {type(topic).__name__}")
        number, place = operator.index(partition), operator.index(offset)
        if number < 0 or place < 0:
            raise ValueError("Failed to acknowledge: the partition or the offset is negative")
        with parts.owned():
            parts.acknowledge(topic, number, place, operator.index(ack_type))

    def commit_sync(self, timeout: float = 60) -> dict[TopicPartition, KafkaException | None]:
        """Send the acknowledgements, and return the result by partition.

        Args:
            timeout: seconds.
        """
        parts = self._open()
        seconds = seconds_of(timeout)
        with parts.owned():
            return parts.commit(seconds)

    def commit_async(self) -> None:
        """Send the acknowledgements; the callback gets the results."""
        parts = self._open()
        with parts.owned():
            parts.commit_async()

    def set_acknowledgement_commit_callback(self, callback: Any) -> None:
        """Set the callback for results: it gets the offsets by partition, and an error or None.

        Args:
            callback: the callback, or None for none.
        """
        parts = self._open()
        if callback is not None and not callable(callback):
            raise TypeError("callback must be callable or None")
        with parts.owned():
            parts.set_callback(callback)

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Use another user's name and password for new connections (PLAIN and SCRAM)."""
        parts = self._open()
        with parts.owned():
            parts.cluster.set_credentials(username, password)

    def close(self) -> None:
        """Send pending acknowledgements, release all other records, leave the group, and close."""
        parts = self._parts
        if parts is None:
            return
        with parts.owned():
            try:
                parts.close()
            finally:
                self._parts = None

    def __enter__(self) -> ShareConsumer:
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
