"""Reading: ottla's records, and what happens instead of records, as messages.

This is the hot path of a consumer. Invariants: a record's offset is stored when its message is
returned, not before; an error of the consumer is a message with an error, and never an exception;
the end of a partition is returned once per end, and again after a seek or an assignment.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import ottla
from ottla import errors
from ottla._core import MessageReader, OffsetStore
from ottla.compat.confluent_kafka._assignment import Assignment
from ottla.compat.confluent_kafka._constants import OFFSET_INVALID
from ottla.compat.confluent_kafka._errors import code_of
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._messages import Message
from ottla.compat.confluent_kafka._poll_gap import PollGap
from ottla.compat.confluent_kafka._record_messages import error_message
from ottla.compat.confluent_kafka._settings import Settings
from ottla.compat.confluent_kafka._topic_errors import TopicErrors


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
        self._consumer = consumer
        self._assignment = assignment
        self._store = store
        self._reader = MessageReader(consumer, store)
        # The next message, if it needs no poll.
        self.buffered = self._reader.buffered
        self._errors: deque[Message] = deque()
        self._topic_errors = TopicErrors(settings, client)
        self._poll_gap = PollGap(settings)

    def subscribed(self, names: list[str]) -> None:
        """Note the topics that are subscribed to by name."""
        self._topic_errors.subscribed(names)
        self._poll_gap.reset()

    def begin(self) -> None:
        """Note that the application polls."""
        exceeded = self._poll_gap.begin()
        if exceeded is not None and self._assignment.is_subscribed:
            self._errors.append(error_message(exceeded))

    def end(self) -> None:
        """Note that the poll ends: the time until the next one counts from now."""
        self._poll_gap.end()

    def read(self, limit: int, timeout: float) -> list[Message]:
        """Return up to so many messages, as soon as there are any."""
        self._look_for_ends()
        if self._errors:
            return [self._errors.popleft()]
        try:
            messages = self._reader.poll(limit, timeout)
        except (errors.StateError, errors.WakeupError, errors.ClosedError):
            raise
        except errors.KafkaError as error:
            return [self._failed(error)]
        return messages or self._topic_errors.due()

    def position(self, key: tuple[str, int]) -> int | None:
        """Return the offset after the last message, and after what follows without a message.

        Markers of transactions and aborted records are passed like this, once a poll has found
        nothing else. None while nothing is passed.
        """
        passed = self._store.position(key)
        if passed is not None or not self._store.is_drained:
            return passed
        try:
            position = self._consumer.position(*key, timeout=0)
        except errors.KafkaError:
            return None
        start = self._assignment.sought.get(key, OFFSET_INVALID)
        return position if 0 <= start < position else None

    def idle(self) -> bool:
        """Whether nothing is subscribed to and nothing is assigned."""
        return not self._assignment.is_subscribed and not len(self._assignment)

    def _failed(self, error: errors.KafkaError) -> Message:
        where: dict[str, Any] = error.context
        topic, partition = where.get("topic"), where.get("partition", -1)
        if isinstance(error, errors.OffsetError) and topic is not None:
            # The others go on; this one waits for a seek, as in librdkafka.
            self._assignment.withhold([(topic, partition)])
        fatal = error.fatal or isinstance(error, errors.FencedError)
        made = KafkaError(KafkaError._FATAL if fatal else code_of(error), str(error), fatal)
        return error_message(made, topic, partition)

    def _look_for_ends(self) -> None:
        """Report partitions whose end is reached, if the application wants that."""
        if not self._settings.partition_eof:
            return
        ends = self._assignment.ends
        for key, lag in self._consumer.lag().items():
            if lag != 0:
                ends.pop(key, None)
                continue
            try:
                position = self._consumer.position(*key, timeout=0)
            except errors.KafkaError:
                continue
            if ends.get(key) != position:
                ends[key] = position
                reason = "Fetch from broker reached end of partition"
                error = KafkaError(KafkaError._PARTITION_EOF, f"{reason} at offset {position}")
                self._errors.append(error_message(error, *key, position))
