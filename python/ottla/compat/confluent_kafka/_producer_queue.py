"""The queue of a producer: messages until their reports are served.

``produce`` never waits: a message of a topic that is known goes through ottla's own queue of
reports at once, the others wait in ``_waiting_messages``. Invariants: each message gets exactly one
report; it counts until its report is served; messages of one topic keep their order.
"""

from __future__ import annotations

import time
from collections import deque

import ottla
from ottla import errors
from ottla._core import Message, ReportQueue
from ottla.compat.confluent_kafka._constants import TIMESTAMP_CREATE_TIME
from ottla.compat.confluent_kafka._error_codes import text_of
from ottla.compat.confluent_kafka._errors import kafka_exception
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._produced import Entry, Report, delivery_error
from ottla.compat.confluent_kafka._settings import Settings
from ottla.compat.confluent_kafka._waiting_messages import WaitingMessages


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
        self._failed: deque[Report] = deque()
        self._waiting = WaitingMessages(settings, producer, self.reports, self._send, self._report)

    def __len__(self) -> int:
        return len(self.reports)

    @property
    def size(self) -> int:
        """The number of bytes of the messages that count."""
        return self._waiting.size + self._producer.buffered_bytes

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
        if self._waiting.put(entry):
            return
        try:
            self._send(entry)
        except errors.UnknownTopicError as error:
            if "partition" in error.context:
                self.reports.forget(1)
                raise kafka_exception(error, KafkaError._UNKNOWN_PARTITION) from error
            self._waiting.put_again(entry)
        except errors.TimeoutError:
            self._waiting.put_again(entry)
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

    def wait(self, seconds: float) -> bool:
        """Wait until there is a report, some seconds at most; return whether there is one."""
        return bool(self._failed) or self.reports.wait(seconds)

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
            self._waiting.fail_all(KafkaError(KafkaError._PURGE_QUEUE))
        self._producer.purge(queued=in_queue, in_flight=in_flight)

    def close(self) -> None:
        """Stop looking up topics."""
        self._waiting.close()

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
