"""A message that was produced, and its report.

Invariant: an error of ottla keeps its text, and has the code that librdkafka gives to a message.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from ottla import errors
from ottla.compat.confluent_kafka._error_codes import text_of
from ottla.compat.confluent_kafka._errors import code_of, failure
from ottla.compat.confluent_kafka._headers import Headers
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._messages import Message
from ottla.error_code import ErrorCode


class Entry:
    """A message that was produced and whose report is not served yet."""

    __slots__ = (
        "callback",
        "headers",
        "key",
        "partition",
        "produced_at",
        "timestamp",
        "topic",
        "value",
    )

    def __init__(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        headers: Headers | None,
        timestamp: int | None,
        callback: Any,
    ) -> None:
        self.topic, self.value, self.key = topic, value, key
        self.partition, self.headers, self.timestamp = partition, headers, timestamp
        self.callback = callback
        self.produced_at = time.monotonic()

    def size(self) -> int:
        """Return the number of bytes that count."""
        return len(self.value or b"") + len(self.key or b"")


class Report(NamedTuple):
    """The outcome of a message, as the arguments of its callback."""

    callback: Any
    error: KafkaError | None
    message: Message


def delivery_error(error: errors.KafkaError) -> KafkaError:
    """Return the error of a message, with the code that librdkafka gives it."""
    code = code_of(error)
    if isinstance(error, errors.PurgedError):
        code = KafkaError._PURGE_INFLIGHT if error.maybe_done else KafkaError._PURGE_QUEUE
    elif isinstance(error, errors.TimeoutError):
        code = KafkaError._MSG_TIMED_OUT
    elif isinstance(error, errors.TransactionAbortedError) and error.maybe_done:
        code = KafkaError._PURGE_INFLIGHT
    elif isinstance(error, errors.ClosedError):
        code = KafkaError._PURGE_QUEUE
    return KafkaError(code, f"{text_of(code)}: {error}")


def check_size(entry: Entry, limit: int) -> None:
    """Refuse a message above ``message.max.bytes``."""
    if entry.size() > limit:
        reason = f"Unable to produce message: {text_of(ErrorCode.MESSAGE_TOO_LARGE)}"
        raise failure(ErrorCode.MESSAGE_TOO_LARGE, reason)
