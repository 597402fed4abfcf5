"""The queue of a producer: messages until their reports are served.

``produce`` never waits: a message of a topic that is not known yet stays here until a thread has
looked the topic up; the others go through ottla's own queue of reports at once. Invariants: each
message gets exactly one report; it counts until its report is served; messages of one topic keep
their order; a message is reported as failed after ``message.timeout.ms`` whatever the brokers do.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque

import ottla
from ottla import errors
from ottla._core import Message, ReportQueue
from ottla.compat.confluent_kafka._constants import TIMESTAMP_CREATE_TIME
from ottla.compat.confluent_kafka._error_codes import text_of
from ottla.compat.confluent_kafka._errors import code_of, kafka_exception
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._produced import Entry, Report, delivery_error
from ottla.compat.confluent_kafka._settings import Settings
from ottla.error_code import ErrorCode

# Seconds between two attempts to look up the same topics.
PAUSE = 0.1

# Seconds that a look-up waits for a broker.
_LOOK_UP = 0.05


class ProducerQueue:
    """The queue in front of one ottla producer.

    Args:
        settings: the limits and timeouts.
        producer: the producer that sends.
        limit: the largest message, in bytes of key and value.
    """

    def __init__(self, settings: Settings, producer: ottla.Producer, limit: int) -> None:
        self._settings = settings
        self._producer = producer
        self.reports = ReportQueue(
            producer,
            settings.queue_max_messages,
            limit,
            settings.queue_max_bytes,
            delivery_error,
            settings.report_only_errors,
        )
        self._began = time.monotonic() - self.reports.now()
        self._changed = threading.Condition()
        self._known: set[str] = set()
        self._waiting: dict[str, deque[Entry]] = {}
        self._waiting_bytes = 0
        self._unknown_since: dict[str, float] = {}
        self._failed: deque[Report] = deque()
        self._opener: threading.Thread | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self.reports)

    @property
    def size(self) -> int:
        """The number of bytes of the messages that count."""
        return self._waiting_bytes + self._producer.buffered_bytes

    def put(self, entry: Entry) -> None:
        """Accept a message, without waiting.

        Raises:
            BufferError: the queue is full.
            KafkaException: the message cannot be sent at all.
        """
        size = self.size
        if size and size + entry.size() > self._settings.queue_max_bytes:
            raise BufferError(text_of(KafkaError._QUEUE_FULL))
        self.reports.count_waiting()
        with self._changed:
            if entry.topic not in self._known:
                self._wait(entry)
                return
        try:
            self._send(entry)
        except errors.UnknownTopicError as error:
            if "partition" in error.context:
                self.reports.forget(1)
                raise kafka_exception(error, KafkaError._UNKNOWN_PARTITION) from error
            self._wait_again(entry)
        except errors.TimeoutError:
            self._wait_again(entry)
        except errors.KafkaError as error:
            self.reports.forget(1)
            raise kafka_exception(error) from error
        except BaseException:
            # It is taken back: a `produce` that raises has no report.
            self.reports.forget(1)
            raise

    def serve(self) -> int:
        """Call the callbacks of messages that are delivered or failed; return their number."""
        served = 0
        # Callbacks may produce: what fails at once is for the next call.
        for _ in range(len(self._failed)):
            report = self._failed.popleft()
            self.reports.forget(1)
            served += 1
            if report.callback is not None:
                report.callback(report.error, report.message)
        return served + self.reports.serve()

    def wait(self, seconds: float) -> None:
        """Wait until there is a report, some seconds at most."""
        if not self._failed:
            self.reports.wait(seconds)

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
        """Give messages up; ``serve`` reports them."""
        if in_queue:
            with self._changed:
                topics = list(self._waiting)
            for topic in topics:
                self._fail_topic(topic, KafkaError(KafkaError._PURGE_QUEUE))
        self._producer.purge(queued=in_queue, in_flight=in_flight)

    def close(self) -> None:
        """Stop looking up topics."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    # -- sending ----------------------------------------------------------------------------

    def _send(self, entry: Entry) -> None:
        self.reports.send(
            entry.topic,
            entry.value,
            entry.key,
            -1 if entry.partition is None else entry.partition,
            entry.headers,
            entry.timestamp or 0,
            entry.callback,
            entry.produced_at - self._began,
        )

    def _report(self, entry: Entry, error: KafkaError) -> None:
        """Report a message that was not sent."""
        message = Message(
            entry.topic,
            -1 if entry.partition is None else entry.partition,
            -1,
            entry.key,
            entry.value,
            None,
            error,
            None if entry.timestamp is None else (TIMESTAMP_CREATE_TIME, entry.timestamp),
            time.monotonic() - entry.produced_at,
        )
        self._failed.append(Report(entry.callback, error, message))
        self.reports.wake()

    def _wait(self, entry: Entry) -> None:
        """Let a message wait for its topic; the lock is held."""
        self._waiting.setdefault(entry.topic, deque()).append(entry)
        self._waiting_bytes += entry.size()
        if self._opener is None:
            self._opener = threading.Thread(target=self._open_topics, daemon=True)
            self._opener.name = "ottla-compat-topics"
            self._opener.start()
        self._changed.notify_all()

    def _wait_again(self, entry: Entry) -> None:
        """Look the topic up again, which ottla has forgotten."""
        with self._changed:
            self._known.discard(entry.topic)
            self.reports.close(entry.topic)
            self._wait(entry)

    # -- topics that are not known yet --------------------------------------------------------

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
                        self.reports.open(topic)
                    return was_sent
                entry = self._take(waiting)
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
        elif error.code == ErrorCode.INVALID_TOPIC_EXCEPTION:
            self._fail_topic(topic, KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, str(error)))
        elif now - self._unknown_since.setdefault(topic, now) > self._settings.topic_timeout:
            self._fail_topic(topic, KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))

    def _take(self, waiting: deque[Entry]) -> Entry:
        entry = waiting.popleft()
        self._waiting_bytes -= entry.size()
        return entry

    def _put_back(self, topic: str, entry: Entry) -> None:
        with self._changed:
            self._waiting.setdefault(topic, deque()).appendleft(entry)
            self._waiting_bytes += entry.size()

    def _fail_topic(self, topic: str, error: KafkaError) -> None:
        with self._changed:
            waiting = self._waiting.pop(topic, deque())
            self._waiting_bytes -= sum(entry.size() for entry in waiting)
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
                    self._report(self._take(waiting), KafkaError(KafkaError._MSG_TIMED_OUT))
                if not waiting:
                    del self._waiting[topic]
