"""Records and errors as messages.

Invariant: the value of an error's message is the error's text, as in librdkafka.
"""

from __future__ import annotations

import ottla
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._messages import Message


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
