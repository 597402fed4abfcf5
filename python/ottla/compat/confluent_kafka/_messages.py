"""``Message``: a record that was consumed or produced, or an error in the place of one.

Invariants: an accessor returns what the application or the client has set, whatever its type; the
numbers below zero that stand for "none" are returned as None.
"""

from __future__ import annotations

import operator
from typing import Any

from ottla.compat.confluent_kafka._constants import OFFSET_INVALID
from ottla.compat.confluent_kafka._kafka_error import KafkaError


class Message:
    """A message: its accessors are methods, as in confluent-kafka.

    An application checks ``error()`` before it reads anything else.

    Args:
        topic: the topic.
        partition: the partition.
        offset: the offset.
        key: the key.
        value: the value.
        headers: pairs of a name and a value.
        error: the error, if the message is none.
        timestamp: the type and the milliseconds since 1970.
        latency: seconds between ``produce()`` and the acknowledgement.
        leader_epoch: the leader epoch of the record.
        delivery_count: how often a share group has delivered the record.
    """

    __slots__ = (
        "_delivery_count",
        "_error",
        "_headers",
        "_key",
        "_latency",
        "_leader_epoch",
        "_offset",
        "_partition",
        "_timestamp",
        "_topic",
        "_value",
    )

    def __new__(cls, *_args: object, **_kwargs: object) -> Message:
        made = super().__new__(cls)
        made._topic = made._key = made._value = made._headers = made._error = None
        made._partition = made._offset = made._leader_epoch = made._delivery_count = 0
        made._timestamp = (0, 0)
        made._latency = 0.0
        return made

    def __init__(
        self,
        topic: Any = None,
        partition: int = -1,
        offset: int = OFFSET_INVALID,
        key: Any = None,
        value: Any = None,
        headers: Any = None,
        error: Any = None,
        timestamp: tuple[int, int] | None = None,
        latency: float = -1.0,
        leader_epoch: int = -1,
        delivery_count: int = -1,
    ) -> None:
        if not isinstance(self, Message):
            raise TypeError(f"expected a Message, not {type(self).__name__}")
        if not -(1 << 15) <= operator.index(delivery_count) < 1 << 15:
            raise OverflowError("delivery_count must fit in 16 bits")
        self._topic = topic
        self._partition = max(operator.index(partition), -1)
        position = operator.index(offset)
        self._offset = position if position >= 0 else OFFSET_INVALID
        self._key, self._value = key, value
        self._headers, self._error = headers, error
        self._timestamp = (0, 0) if timestamp is None else timestamp
        self._latency = float(latency) if latency >= 0 else -1.0
        self._leader_epoch = max(operator.index(leader_epoch), -1)
        count = operator.index(delivery_count)
        self._delivery_count = count if count > 0 else -1

    def topic(self) -> Any:
        """Return the topic, or None."""
        return self._topic

    def partition(self) -> int | None:
        """Return the partition, or None."""
        return None if self._partition < 0 else self._partition

    def offset(self) -> int | None:
        """Return the offset, or None."""
        return None if self._offset < 0 else self._offset

    def key(self) -> Any:
        """Return the key: bytes, what a deserializer made of it, or None."""
        return self._key

    def value(self) -> Any:
        """Return the value: bytes, what a deserializer made of it, or None."""
        return self._value

    def deserialized_key(self) -> Any:
        """Return the key, as ``key()`` does."""
        return self._key

    def deserialized_value(self) -> Any:
        """Return the value, as ``value()`` does."""
        return self._value

    def headers(self) -> Any:
        """Return the headers as a list of pairs, or None if there are none."""
        return self._headers

    def error(self) -> KafkaError | None:
        """Return the error, or None for a proper message."""
        error: KafkaError | None = self._error
        return error

    def timestamp(self) -> tuple[int, int]:
        """Return the type of the timestamp and the milliseconds since 1970."""
        return self._timestamp

    def latency(self) -> float | None:
        """Return the seconds between ``produce()`` and the acknowledgement, or None."""
        return None if self._latency < 0 else self._latency

    def leader_epoch(self) -> int | None:
        """Return the leader epoch, or None."""
        return None if self._leader_epoch < 0 else self._leader_epoch

    def delivery_count(self) -> int | None:
        """Return how often the share group has delivered the record, or None."""
        return None if self._delivery_count <= 0 else self._delivery_count

    def set_topic(self, topic: Any) -> None:
        """Set what ``topic()`` returns."""
        self._topic = topic

    def set_key(self, key: Any) -> None:
        """Set what ``key()`` returns."""
        self._key = key

    def set_value(self, value: Any) -> None:
        """Set what ``value()`` returns."""
        self._value = value

    def set_headers(self, headers: Any) -> None:
        """Set what ``headers()`` returns."""
        self._headers = headers

    def set_error(self, error: Any) -> None:
        """Set what ``error()`` returns."""
        self._error = error

    def __len__(self) -> int:
        return 0 if self._value is None else len(self._value)

    def _fields(self) -> tuple[Any, ...]:
        return (
            *(self._topic, self._partition, self._offset, self._key, self._value),
            *(self._headers, self._error, self._timestamp, self._latency),
            *(self._leader_epoch, self._delivery_count),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return self._fields() == other._fields()

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, self._fields()
