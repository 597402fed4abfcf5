"""Reading: ottla's records, and what happens instead of records, as messages.

This is the hot path of a consumer. Invariants: a record's offset is stored when its message is
returned, not before; an error of the consumer is a message with an error, and never an exception;
the end of a partition is returned once per end.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import ottla
from ottla import errors
from ottla.compat.confluent_kafka._assignment import Assignment
from ottla.compat.confluent_kafka._errors import code_of
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._messages import Message
from ottla.compat.confluent_kafka._offset_store import OffsetStore
from ottla.compat.confluent_kafka._partitions import Key
from ottla.compat.confluent_kafka._settings import Settings

# Seconds between two looks for topics that do not exist.
_LOOK = 0.5


def message_of(record: ottla.Record) -> Message:
    """Return a record as a message."""
    message = Message.__new__(Message)
    message._topic = record.topic
    message._partition = record.partition
    message._offset = record.offset
    message._key = record.key
    message._value = record.value
    message._headers = list(record.headers) or None
    kind = record.timestamp_type
    message._timestamp = (kind + 1, record.timestamp) if kind >= 0 else (0, -1)
    message._latency = -1.0
    message._leader_epoch = record.leader_epoch
    count = record.delivery_count
    message._delivery_count = -1 if count is None else count
    return message


def error_message(
    error: KafkaError, topic: str | None = None, partition: int = -1, offset: int = -1
) -> Message:
    """Return an error in the place of a message; its value is the error's text."""
    text = error.str().encode()
    return Message(topic, partition, offset, None, text, None, error, (0, -1))


class Reading:
    """What one consumer returns.

    Args:
        settings: the consumer's settings.
        client: the ottla client, whose metadata knows which topics exist.
        consumer: the ottla consumer.
        assignment: its assignment.
        store: its offsets.
    """

    def __init__(
        self,
        settings: Settings,
        client: ottla.Client,
        consumer: ottla.Consumer,
        assignment: Assignment,
        store: OffsetStore,
    ) -> None:
        self._settings = settings
        self._client = client
        self._consumer = consumer
        self._assignment = assignment
        self._store = store
        self._errors: deque[Message] = deque()
        self._ends: dict[Key, int] = {}
        self._names: list[str] = []
        self._reported: set[str] = set()
        self._next_look = 0.0
        self._last_poll: float | None = None

    def subscribed(self, names: list[str]) -> None:
        """Note the topics that are subscribed to by name."""
        self._names = names
        self._reported.clear()
        self._next_look = time.monotonic() + _LOOK
        self._last_poll = None

    def begin(self) -> None:
        """Note that the application polls."""
        now = time.monotonic()
        last, self._last_poll = self._last_poll, now
        if last is not None and self._assignment.is_subscribed:
            late = now - last - self._settings.max_poll_interval
            if late > 0:
                millis = int(self._settings.max_poll_interval * 1000)
                over = int(late * 1000)
                reason = f"Application maximum poll interval ({millis}ms) exceeded by {over}ms"
                error = KafkaError(KafkaError._MAX_POLL_EXCEEDED, reason)
                self._errors.append(error_message(error))

    def end(self) -> None:
        """Note that the poll ends: the time until the next one counts from now."""
        self._last_poll = time.monotonic()

    def read(self, limit: int, timeout: float) -> list[Message]:
        """Return up to so many messages, as soon as there are any."""
        self._look_for_ends()
        if self._errors:
            return [self._errors.popleft()]
        try:
            records = self._consumer.poll(timeout=timeout, max_records=limit)
        except (errors.StateError, errors.WakeupError, errors.ClosedError):
            raise
        except errors.KafkaError as error:
            return [self._failed(error)]
        if records:
            return [self._returned(record) for record in records]
        self._look_for_topics()
        return [self._errors.popleft()] if self._errors else []

    def idle(self) -> bool:
        """Whether nothing is subscribed to and nothing is assigned."""
        return not self._assignment.is_subscribed and not len(self._assignment)

    def _returned(self, record: ottla.Record) -> Message:
        key = (record.topic, record.partition)
        store = self._settings.auto_offset_store
        self._store.returned(key, record.offset, record.leader_epoch, store=store)
        return message_of(record)

    def _failed(self, error: errors.KafkaError) -> Message:
        where: dict[str, Any] = error.context
        topic, partition = where.get("topic"), where.get("partition", -1)
        if isinstance(error, errors.OffsetError) and topic is not None:
            # The others go on; this one waits for a seek, as in librdkafka.
            self._assignment.withhold([(topic, partition)])
        fatal = error.fatal or isinstance(error, errors.FencedError)
        made = KafkaError(KafkaError._FATAL if fatal else code_of(error), str(error), fatal)
        return error_message(made, topic, partition)

    def _look_for_topics(self) -> None:
        """Report topics that are subscribed to and do not exist, once each."""
        now = time.monotonic()
        if now < self._next_look or not self._names or not self._settings.has_brokers:
            return
        self._next_look = now + _LOOK
        try:
            topics = self._client.cluster(timeout=0).topics
        except errors.KafkaError:
            return
        for name in self._names:
            topic = topics.get(name)
            if topic is None or topic.error is None:
                self._reported.discard(name)
            elif name not in self._reported:
                self._reported.add(name)
                self._errors.append(_topic_error(name, topic.error))

    def _look_for_ends(self) -> None:
        """Report partitions whose end is reached, if the application wants that."""
        if not self._settings.partition_eof:
            return
        for key, lag in self._consumer.lag().items():
            if lag != 0:
                self._ends.pop(key, None)
                continue
            try:
                position = self._consumer.position(*key, timeout=0)
            except errors.KafkaError:
                continue
            if self._ends.get(key) != position:
                self._ends[key] = position
                reason = "Fetch from broker reached end of partition"
                error = KafkaError(KafkaError._PARTITION_EOF, f"{reason} at offset {position}")
                self._errors.append(error_message(error, *key, position))


def _topic_error(name: str, error: str) -> Message:
    code = KafkaError.UNKNOWN_TOPIC_OR_PART
    if error == "TOPIC_AUTHORIZATION_FAILED":
        code = KafkaError.TOPIC_AUTHORIZATION_FAILED
    elif error == "INVALID_TOPIC_EXCEPTION":
        code = KafkaError.TOPIC_EXCEPTION
    elif error != "UNKNOWN_TOPIC_OR_PARTITION":
        return error_message(KafkaError(KafkaError.LEADER_NOT_AVAILABLE), name)
    text = KafkaError(code).str()
    return error_message(KafkaError(code, f"Subscribed topic not available: {name}: {text}"), name)
