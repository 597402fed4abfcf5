"""The queue of a producer: messages until their reports are served.

``produce`` never waits: a message of a topic that is not known yet stays here until a thread has
looked the topic up, and the others go to ottla's producer at once. Invariants: each message gets
exactly one report; it counts until its report is taken; messages of one topic keep their order; a
message is reported as failed after ``message.timeout.ms`` whatever the brokers do.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections import deque

import ottla
from ottla import errors
from ottla.compat.confluent_kafka._constants import TIMESTAMP_CREATE_TIME
from ottla.compat.confluent_kafka._error_codes import text_of
from ottla.compat.confluent_kafka._errors import code_of, kafka_exception
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._messages import Message
from ottla.compat.confluent_kafka._produced import Entry, Report, delivery_error
from ottla.compat.confluent_kafka._settings import Settings

# Seconds between two attempts to look up the same topics.
PAUSE = 0.1

# Seconds that a look-up waits for a broker.
_LOOK_UP = 0.05


class ProducerQueue:
    """The queue in front of one ottla producer.

    Args:
        settings: the limits and timeouts.
        producer: the producer that sends.
    """

    def __init__(self, settings: Settings, producer: ottla.Producer) -> None:
        self._settings = settings
        self._producer = producer
        self._changed = threading.Condition()
        self._known: set[str] = set()
        self._waiting: dict[str, deque[Entry]] = {}
        self._unknown_since: dict[str, float] = {}
        self._in_flight: set[Entry] = set()
        self._reports: deque[tuple[Entry, Report]] = deque()
        self._count = self._bytes = 0
        self._opener: threading.Thread | None = None
        self._closed = False

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """The number of bytes of the messages that count."""
        return self._bytes

    def put(self, entry: Entry) -> None:
        """Accept a message, without waiting.

        Raises:
            BufferError: the queue is full.
            KafkaException: the message cannot be sent at all.
        """
        size = entry.size()
        with self._changed:
            full = self._count >= self._settings.queue_max_messages
            if full or (self._count and self._bytes + size > self._settings.queue_max_bytes):
                raise BufferError(text_of(KafkaError._QUEUE_FULL))
            self._count += 1
            self._bytes += size
            if entry.topic not in self._known:
                self._waiting.setdefault(entry.topic, deque()).append(entry)
                self._start_opener()
                self._changed.notify_all()
                return
        try:
            self._send(entry)
        except errors.UnknownTopicError as error:
            if "partition" in error.context:
                self._forget(entry)
                raise kafka_exception(error, KafkaError._UNKNOWN_PARTITION) from error
            self._wait_again(entry)
        except errors.TimeoutError:
            self._wait_again(entry)
        except errors.KafkaError as error:
            self._forget(entry)
            raise kafka_exception(error) from error
        except BaseException:
            self._forget(entry)
            raise

    def take(self) -> Report | None:
        """Return the next report to serve, if there is one; its message counts no longer."""
        with self._changed:
            if not self._reports:
                return None
            entry, report = self._reports.popleft()
            self._count -= 1
            self._bytes -= entry.size()
        return report

    def wait(self, seconds: float) -> None:
        """Wait until there is a report, some seconds at most."""
        with self._changed:
            if not self._reports:
                self._changed.wait(seconds)

    def send_now(self) -> None:
        """Send what waits for ``linger.ms``."""
        try:
            self._producer.flush(timeout=0)
        except errors.TimeoutError:
            pass
        except errors.KafkaError:
            # The messages themselves report what has happened to them.
            return

    def purge(self, *, in_queue: bool, in_flight: bool) -> None:
        """Report messages as purged, whatever happens to them."""
        with self._changed:
            if in_queue:
                for entry in [entry for waiting in self._waiting.values() for entry in waiting]:
                    self._report(entry, KafkaError(KafkaError._PURGE_QUEUE))
                self._waiting.clear()
            if in_flight:
                for entry in list(self._in_flight):
                    self._report(entry, KafkaError(KafkaError._PURGE_INFLIGHT))

    def close(self) -> None:
        """Stop looking up topics."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    # -- sending ----------------------------------------------------------------------------

    def _send(self, entry: Entry) -> None:
        with self._changed:
            self._in_flight.add(entry)
        try:
            self._producer.send(
                entry.topic,
                entry.value,
                entry.key,
                headers=entry.headers,
                timestamp=entry.timestamp,
                partition=entry.partition,
                on_delivery=functools.partial(self._delivered, entry),
            )
        except BaseException:
            with self._changed:
                self._in_flight.discard(entry)
            raise

    def _delivered(
        self, entry: Entry, error: errors.KafkaError | None, metadata: ottla.RecordMetadata
    ) -> None:
        with self._changed:
            self._report(entry, None if error is None else delivery_error(error), metadata)

    def _report(
        self,
        entry: Entry,
        error: KafkaError | None,
        metadata: ottla.RecordMetadata | None = None,
    ) -> None:
        """Add the only report of a message; the lock is held."""
        self._in_flight.discard(entry)
        if entry.reported:
            return
        entry.reported = True
        partition = entry.partition if metadata is None else metadata.partition
        offset = None if metadata is None or error is not None else metadata.offset
        timestamp = entry.timestamp if metadata is None else metadata.timestamp
        message = Message(
            entry.topic,
            -1 if partition is None else partition,
            -1 if offset is None else offset,
            entry.key,
            entry.value,
            None,
            error,
            None if timestamp is None else (TIMESTAMP_CREATE_TIME, timestamp),
            time.monotonic() - entry.produced_at,
        )
        callback = entry.callback
        if error is None and self._settings.report_only_errors:
            callback = None
        self._reports.append((entry, Report(callback, error, message)))
        self._changed.notify_all()

    def _forget(self, entry: Entry) -> None:
        """Take back a message whose ``produce`` raises: it gets no report."""
        with self._changed:
            entry.reported = True
            self._count -= 1
            self._bytes -= entry.size()

    def _wait_again(self, entry: Entry) -> None:
        """Look the topic up again, which ottla has forgotten."""
        with self._changed:
            self._known.discard(entry.topic)
            self._waiting.setdefault(entry.topic, deque()).append(entry)
            self._start_opener()
            self._changed.notify_all()

    # -- topics that are not known yet --------------------------------------------------------

    def _start_opener(self) -> None:
        if self._opener is None:
            self._opener = threading.Thread(target=self._open_topics, daemon=True)
            self._opener.name = "ottla-compat-topics"
            self._opener.start()

    def _open_topics(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                topics = list(self._waiting)
            opened = [self._open(topic) for topic in topics if self._settings.has_brokers]
            self._expire()
            if not any(opened):
                with self._changed:
                    if not self._closed:
                        self._changed.wait(self._pause())

    def _pause(self) -> float:
        """Return the seconds until the next attempt, or until the first message expires."""
        timeout = self._settings.message_timeout
        if timeout is None:
            return PAUSE
        oldest = min((waiting[0].produced_at for waiting in self._waiting.values()), default=0.0)
        left = max(oldest + timeout - time.monotonic(), 0.0) + 0.001
        return min(left, PAUSE) if self._settings.has_brokers else left

    def _open(self, topic: str) -> bool:
        """Send the messages of a topic, if it is known by now; return whether it is."""
        was_sent = False
        while True:
            with self._changed:
                waiting = self._waiting.get(topic)
                if not waiting:
                    self._waiting.pop(topic, None)
                    self._unknown_since.pop(topic, None)
                    if was_sent:
                        self._known.add(topic)
                    return was_sent
                entry = waiting.popleft()
            try:
                if not was_sent:
                    self._look_up(topic)
                self._send(entry)
                was_sent = True
            except (errors.UnknownTopicError, errors.TimeoutError) as error:
                if "partition" in error.context:
                    self._fail([entry], KafkaError(KafkaError._UNKNOWN_PARTITION, str(error)))
                    continue
                self._put_back(topic, entry)
                self._judge(topic, error)
                return False
            except errors.AuthorizationError as error:
                self._put_back(topic, entry)
                self._fail_topic(topic, KafkaError(code_of(error), str(error)))
                return False
            except errors.KafkaError as error:
                self._fail([entry], delivery_error(error))

    def _look_up(self, topic: str) -> None:
        """Wait a moment for a topic, before a send in a transaction waits for longer.

        Raises:
            TimeoutError: no broker has responded yet.
        """
        if self._settings.ottla.get("transactional.id"):
            with contextlib.suppress(errors.UnknownTopicError):  # a send may create the topic
                self._producer.partitions_for(topic, timeout=_LOOK_UP)

    def _judge(self, topic: str, error: errors.KafkaError) -> None:
        """Give a topic up that does not exist, or has not appeared for too long."""
        now = time.monotonic()
        if isinstance(error, errors.TimeoutError):
            self._unknown_since.pop(topic, None)  # it is not known whether the topic exists
        elif error.code == KafkaError.TOPIC_EXCEPTION:
            self._fail_topic(topic, KafkaError(KafkaError.TOPIC_EXCEPTION, str(error)))
        elif now - self._unknown_since.setdefault(topic, now) > self._settings.topic_timeout:
            self._fail_topic(topic, KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))

    def _put_back(self, topic: str, entry: Entry) -> None:
        with self._changed:
            self._waiting.setdefault(topic, deque()).appendleft(entry)

    def _fail_topic(self, topic: str, error: KafkaError) -> None:
        with self._changed:
            waiting = self._waiting.pop(topic, deque())
            self._unknown_since.pop(topic, None)
        self._fail(list(waiting), error)

    def _fail(self, entries: list[Entry], error: KafkaError) -> None:
        with self._changed:
            for entry in entries:
                self._report(entry, error)

    def _expire(self) -> None:
        """Report the messages whose time is over."""
        timeout = self._settings.message_timeout
        if timeout is None:
            return
        now = time.monotonic()
        with self._changed:
            for topic, waiting in list(self._waiting.items()):
                while waiting and now - waiting[0].produced_at >= timeout:
                    self._report(waiting.popleft(), KafkaError(KafkaError._MSG_TIMED_OUT))
                if not waiting:
                    del self._waiting[topic]
