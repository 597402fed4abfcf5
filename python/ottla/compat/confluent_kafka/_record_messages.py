"""Records and errors as messages.

Invariant: the value of an error's message is the error's text, as in librdkafka.
"""

from __future__ import annotations

import ottla
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._messages import Message


def message_of(record: ottla.Record) -> Message:
    """Return a record as a message."""
    kind, count = record.timestamp_type, record.delivery_count
    return Message(
        record.topic,
        record.partition,
        record.offset,
        record.key,
        record.value,
        list(record.headers) or None,
        None,
        (kind + 1, record.timestamp) if kind >= 0 else (0, -1),
        -1.0,
        record.leader_epoch,
        -1 if count is None else count,
    )


def error_message(
    error: KafkaError, topic: str | None = None, partition: int = -1, offset: int = -1
) -> Message:
    """Return an error in the place of a message; its value is the error's text."""
    text = error.str().encode()
    return Message(topic, partition, offset, None, text, None, error, (0, -1))
