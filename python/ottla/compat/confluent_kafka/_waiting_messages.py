"""Messages that wait until their topic is known, and the thread that looks their topics up.

Invariants: messages of one topic are sent in their order; a message is reported as failed after
``message.timeout.ms`` whatever the brokers do; a topic is asked for again after a pause only. The
thread ends soon after the last message that waits: it would keep a forgotten producer alive.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable

import ottla
from ottla import errors
from ottla._core import ReportQueue
from ottla.compat.confluent_kafka._errors import code_of
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._produced import Entry, delivery_error
from ottla.compat.confluent_kafka._settings import Settings
from ottla.error_code import ErrorCode

# Seconds between two attempts to look up the same topics.
_PAUSE = 0.1

# Seconds that the thread waits for more messages before it ends.
_IDLE = 0.2

# Seconds that a look-up waits for a broker.
_LOOK_UP = 0.05


class WaitingMessages:
    """The messages of one producer that wait for their topics.

    Args:
        settings: the timeouts.
        producer: the producer that sends.
        reports: learns which topics are known.
        send: sends a message; it may wait a moment.
        report: reports a message as failed.
    """

    def __init__(
        self,
        settings: Settings,
        producer: ottla.Producer,
        reports: ReportQueue,
        send: Callable[[Entry], None],
        report: Callable[[Entry, KafkaError], None],
    ) -> None:
        self._settings = settings
        self._producer = producer
        self._reports = reports
        self._send = send
        self._report = report
        self._changed = threading.Condition()
        self._known: set[str] = set()
        self._waiting: dict[str, deque[Entry]] = {}
        # The bytes of the messages that wait.
        self.size = 0
        self._unknown_since: dict[str, float] = {}
        # How often all messages were given up, and why they were the last time.
        self._purges: tuple[int, KafkaError | None] = (0, None)
        self._opener: threading.Thread | None = None
        self._closed = False

    def put(self, entry: Entry) -> bool:
        """Let a message wait for its topic; return False if the topic is known."""
        with self._changed:
            if entry.topic in self._known:
                return False
            self._wait(entry)
            return True

    def put_again(self, entry: Entry) -> None:
        """Look a topic up again, which ottla has forgotten."""
        with self._changed:
            self._known.discard(entry.topic)
            self._reports.close(entry.topic)
            self._wait(entry)

    def fail_all(self, error: KafkaError) -> None:
        """Report all messages as failed, except one that is sent at the moment."""
        with self._changed:
            self._purges = (self._purges[0] + 1, error)
            topics = list(self._waiting)
        for topic in topics:
            self._fail_topic(topic, error)

    def close(self) -> None:
        """Stop looking up topics."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _wait(self, entry: Entry) -> None:
        """Let a message wait for its topic; the lock is held."""
        self._waiting.setdefault(entry.topic, deque()).append(entry)
        self.size += entry.size()
        if self._opener is None:
            self._opener = threading.Thread(target=self._open_topics, daemon=True)
            self._opener.name = "ottla-compat-topics"
            self._opener.start()
        self._changed.notify_all()

    def _open_topics(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed, _IDLE)
                if self._closed or not self._waiting:
                    self._opener = None
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
            return _PAUSE
        oldest = min((waiting[0].produced_at for waiting in self._waiting.values()), default=0.0)
        left = max(oldest + timeout - time.monotonic(), 0.0) + 0.001
        return min(left, _PAUSE) if self._settings.has_brokers else left

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
                        self._reports.open(topic)
                    return was_sent
                entry, purges = self._take(waiting), self._purges
            try:
                if not was_sent:
                    self._look_up(topic)
                self._send(entry)
                was_sent = True
            except (errors.UnknownTopicError, errors.TimeoutError) as error:
                if "partition" in error.context:
                    self._report(entry, KafkaError(KafkaError._UNKNOWN_PARTITION, str(error)))
                    continue
                self._put_back(topic, entry, purges)
                self._judge(topic, error)
                return False
            except errors.AuthorizationError as error:
                self._put_back(topic, entry, purges)
                self._fail_topic(topic, KafkaError(code_of(error), str(error)))
                return False
            except errors.KafkaError as error:
                self._report(entry, delivery_error(error))

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
        self.size -= entry.size()
        return entry

    def _put_back(self, topic: str, entry: Entry, purges: tuple[int, KafkaError | None]) -> None:
        """Let a message wait on that was taken after these purges; a later one fails it."""
        with self._changed:
            error = self._purges[1]
            if self._purges == purges or error is None:
                self._waiting.setdefault(topic, deque()).appendleft(entry)
                self.size += entry.size()
                return
        self._report(entry, error)

    def _fail_topic(self, topic: str, error: KafkaError) -> None:
        with self._changed:
            waiting = self._waiting.pop(topic, deque())
            self.size -= sum(entry.size() for entry in waiting)
            self._unknown_since.pop(topic, None)
        for entry in waiting:
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
