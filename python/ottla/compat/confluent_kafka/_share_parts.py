"""The parts of an open share consumer, and who may use them at the moment.

Invariant: the thread in a call owns the consumer until the call ends; its callbacks may call it.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ottla
from ottla import errors
from ottla.compat.confluent_kafka._client_events import ClientEvents
from ottla.compat.confluent_kafka._config import client_of, settings_of
from ottla.compat.confluent_kafka._errors import code_of, kafka_exception
from ottla.compat.confluent_kafka._handle import Cluster
from ottla.compat.confluent_kafka._kafka_error import (
    ConcurrentModificationException,
    IllegalStateException,
    KafkaError,
    KafkaException,
)
from ottla.compat.confluent_kafka._messages import Message
from ottla.compat.confluent_kafka._model import AcknowledgeType
from ottla.compat.confluent_kafka._poll_gap import PollGap
from ottla.compat.confluent_kafka._record_messages import error_message, message_of
from ottla.compat.confluent_kafka._statistics import broker_statistics, client_statistics
from ottla.compat.confluent_kafka._topic_errors import TopicErrors
from ottla.compat.confluent_kafka._topic_partition import TopicPartition

# Seconds that a wait may delay what only a poll notices, and that closing may take.
_SLICE, _CLOSE = 0.1, 8.0

# A poll returns all records of a batch, also above ``max.poll.records``.
_ALL = 1_000_000


@contextmanager
def _translated() -> Iterator[None]:
    """Raise ottla's exceptions with the classes of confluent-kafka's share consumer."""
    try:
        yield
    except errors.StateError as error:
        raise IllegalStateException(str(error)) from error
    except errors.ConfigError as error:
        raise ValueError(str(error)) from error
    except errors.KafkaError as error:
        raise kafka_exception(error) from error


class ShareParts:
    """The parts of one share consumer.

    Args:
        config: librdkafka's configuration.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self.settings = settings_of(config, "share consumer")
        mode = str(self.settings.ottla.get("share.acknowledgement.mode") or "implicit")
        self._is_explicit = mode.lower() == "explicit"
        try:
            self._client = client_of(self.settings)
            self._consumer: ottla.ShareConsumer = ottla.ShareConsumer(self._client)
        except (KafkaException, errors.KafkaError) as error:
            raise ValueError(f"Failed to create share consumer: {error}") from error
        self.cluster = Cluster(self.settings, self._client)
        self._topic_errors = TopicErrors(self.settings, self._client)
        self._poll_gap = PollGap(self.settings)
        self._in_callback = False
        self._owner: int | None = None
        self._depth = 0
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self.events = ClientEvents(self.settings, self._connections, self._statistics)
        self.cluster.connect_later()

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Own the consumer in the block.

        Raises:
            ConcurrentModificationException: another thread owns it.
            IllegalStateException: its acknowledgement callback calls it.
        """
        me = threading.get_ident()
        with self._lock:
            if self._depth and self._owner != me:
                raise ConcurrentModificationException(
                    "ShareConsumer is not safe for multi-threaded access"
                )
            if self._in_callback:
                raise IllegalStateException("the acknowledgement callback may not call it")
            self._owner = me
            self._depth += 1
        try:
            yield
        finally:
            with self._lock:
                self._depth -= 1

    def subscribe(self, topics: list[str]) -> None:
        """Replace the subscription."""
        with _translated():
            if topics:
                self._consumer.subscribe(topics)
            else:
                self._consumer.unsubscribe()
        self._topic_errors.subscribed(topics)
        self._poll_gap.reset()

    def subscription(self) -> list[str]:
        """Return the topics that are subscribed to."""
        return self._consumer.subscription()

    def poll(self, timeout: float) -> list[Message]:
        """Serve callbacks, and return messages as soon as there are any."""
        deadline = time.monotonic() + timeout
        exceeded = self._poll_gap.begin() if self._consumer.subscription() else None
        try:
            if exceeded is not None:
                raise KafkaException(exceeded)
            while True:
                self.events.serve()
                if not self._consumer.subscription():
                    raise IllegalStateException("the consumer is not subscribed to any topic")
                left = deadline - time.monotonic()
                found = self._read(self.events.wait_at_most(min(max(left, 0.0), _SLICE)))
                if found or left <= 0:
                    return found
        finally:
            self._poll_gap.end()

    def acknowledge(self, topic: str, partition: int, offset: int, kind: int) -> None:
        """Acknowledge a record of the last poll."""
        if not self._is_explicit:
            mode = "share.acknowledgement.mode is implicit: a poll or a commit accepts the records"
            raise IllegalStateException(mode)
        if kind not in list(AcknowledgeType):
            raise ValueError(f"Failed to acknowledge: {kind} is no type of acknowledgement")
        with _translated():
            chosen = ottla.AcknowledgeType(kind)
            self._consumer.acknowledge_offsets(topic, partition, offset, type=chosen)

    def commit(self, timeout: float) -> dict[TopicPartition, KafkaException | None]:
        """Send the acknowledgements, and return the results."""
        self.events.serve()
        with _translated():
            results = self._consumer.commit(timeout=timeout)
        return {
            TopicPartition(topic, partition): None if error is None else kafka_exception(error)
            for (topic, partition), error in results.items()
        }

    def commit_async(self) -> None:
        """Send the acknowledgements without waiting."""
        self.events.serve()
        with _translated():
            self._consumer.commit_async()

    def set_callback(self, callback: Any) -> None:
        """Set the callback for results of acknowledgements."""
        if callback is None:
            self._consumer.set_acknowledgement_commit_callback(None)
            return

        def committed(
            error: errors.KafkaError | None,
            offsets: dict[tuple[str, int], list[tuple[int, int]]],
        ) -> None:
            found = {
                TopicPartition(topic, partition): {
                    offset for first, last in ranges for offset in range(first, last + 1)
                }
                for (topic, partition), ranges in offsets.items()
            }
            self._in_callback = True
            try:
                callback(found, None if error is None else kafka_exception(error))
            finally:
                self._in_callback = False

        self._consumer.set_acknowledgement_commit_callback(committed)

    def close(self) -> None:
        """Close the consumer and its connections."""
        try:
            self.events.serve()
            with _translated():
                self._consumer.close(timeout=_CLOSE if self.settings.has_brokers else 0.1)
        except KafkaException as error:
            if error.args[0] != KafkaError._TIMED_OUT:
                raise
        finally:
            self.cluster.close()

    def abandon(self) -> None:
        """Drop the connections of a consumer that was never closed."""
        self.cluster.close()

    def _read(self, timeout: float) -> list[Message]:
        with _translated():
            try:
                records = self._consumer.poll(timeout=timeout, max_records=_ALL)
            except (errors.StateError, errors.WakeupError, errors.ClosedError):
                raise
            except errors.KafkaError as error:
                made = KafkaError(code_of(error), str(error), error.fatal)
                where = error.context
                return [error_message(made, where.get("topic"), where.get("partition", -1))]
        return [message_of(record) for record in records] or self._topic_errors.due()

    def _connections(self) -> list[ottla.ConnectionStatus]:
        return [*self._client.connections(), *self._consumer.connections()]

    def _statistics(self) -> str:
        metrics = self._consumer.metrics()
        found = client_statistics(self.settings, self.events.name, self._started, metrics)
        found["brokers"] = broker_statistics(self.settings, self._connections())
        return json.dumps(found)
