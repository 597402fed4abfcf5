"""``TopicPartition`` and ``Uuid``: values that the classes of confluent-kafka share.

Invariants: comparison and hash of a ``TopicPartition`` use its topic and partition alone; only its
offset can be changed by the application.
"""

from __future__ import annotations

import base64
import operator
from typing import Any

from ottla.compat.confluent_kafka._constants import OFFSET_INVALID
from ottla.compat.confluent_kafka._kafka_error import KafkaError


class TopicPartition:
    """A partition of a topic, with an offset and what belongs to it.

    Args:
        topic: the topic's name.
        partition: the partition's number; -1 if it does not matter.
        offset: an offset, or ``OFFSET_BEGINNING``, ``OFFSET_END``, ``OFFSET_STORED`` or
            ``OFFSET_INVALID``.
        metadata: the text that is committed with the offset.
        leader_epoch: the leader epoch of the record before the offset, if known.
    """

    __slots__ = ("_error", "_leader_epoch", "_metadata", "_offset", "_partition", "_topic")

    def __init__(
        self,
        topic: str,
        partition: int = -1,
        offset: int = OFFSET_INVALID,
        metadata: str | None = None,
        leader_epoch: int | None = None,
    ) -> None:
        if not isinstance(topic, str):
            raise TypeError(f"topic must be str, not {type(topic).__name__}")
        if metadata is not None and not isinstance(metadata, str):
            raise TypeError(f"metadata must be str, not {type(metadata).__name__}")
        if "\0" in topic or "\0" in (metadata or ""):
            raise ValueError("embedded null character")
        self._topic = topic
        self._partition = operator.index(partition)
        self._offset = operator.index(offset)
        self._metadata = metadata
        epoch = -1 if leader_epoch is None else operator.index(leader_epoch)
        self._leader_epoch = epoch if epoch >= 0 else None
        self._error: KafkaError | None = None

    @property
    def topic(self) -> str:
        """The topic's name."""
        return self._topic

    @property
    def partition(self) -> int:
        """The partition's number, or -1."""
        return self._partition

    @property
    def offset(self) -> int:
        """The offset, or one of the constants below zero."""
        return self._offset

    @offset.setter
    def offset(self, offset: int) -> None:
        self._offset = operator.index(offset)

    @property
    def metadata(self) -> str | None:
        """The metadata of the committed offset, or None."""
        return self._metadata

    @property
    def leader_epoch(self) -> int | None:
        """The leader epoch of the record before the offset, or None."""
        return self._leader_epoch

    @property
    def error(self) -> KafkaError | None:
        """The error of this partition in the call that returned it, or None."""
        return self._error

    def _key(self) -> tuple[str, int]:
        return self._topic, self._partition

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicPartition):
            return NotImplemented
        return self._key() == other._key()

    def __lt__(self, other: TopicPartition) -> bool:
        if not isinstance(other, TopicPartition):
            return NotImplemented
        return self._key() < other._key()

    def __le__(self, other: TopicPartition) -> bool:
        if not isinstance(other, TopicPartition):
            return NotImplemented
        return self._key() <= other._key()

    def __gt__(self, other: TopicPartition) -> bool:
        if not isinstance(other, TopicPartition):
            return NotImplemented
        return self._key() > other._key()

    def __ge__(self, other: TopicPartition) -> bool:
        if not isinstance(other, TopicPartition):
            return NotImplemented
        return self._key() >= other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"TopicPartition{{topic={self._topic},partition={self._partition},"
            f"offset={self._offset},leader_epoch={self._leader_epoch},error={self._error}}}"
        )


def topic_partition(
    topic: str,
    partition: int,
    offset: int = OFFSET_INVALID,
    *,
    metadata: str | None = None,
    leader_epoch: int | None = None,
    error: KafkaError | None = None,
) -> TopicPartition:
    """Return a ``TopicPartition`` with its error, which applications cannot set."""
    made = TopicPartition(topic, partition, offset, metadata, leader_epoch)
    made._error = error
    return made


class Uuid:
    """A topic's id as two numbers of 64 bits.

    Args:
        most_significant_bits: the first half, as a signed number.
        least_significant_bits: the second half, as a signed number.
    """

    __slots__ = ("_least", "_most")

    def __init__(self, most_significant_bits: int, least_significant_bits: int) -> None:
        self._most = operator.index(most_significant_bits)
        self._least = operator.index(least_significant_bits)

    def get_most_significant_bits(self) -> int:
        """Return the first half, as a signed number."""
        return self._most

    def get_least_significant_bits(self) -> int:
        """Return the second half, as a signed number."""
        return self._least

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Uuid):
            return NotImplemented
        return (self._most, self._least) == (other._most, other._least)

    def __hash__(self) -> int:
        return hash((self._most, self._least))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._most, self._least)

    def __repr__(self) -> str:
        halves = (self._most, self._least)
        octets = b"".join((half & (1 << 64) - 1).to_bytes(8, "big") for half in halves)
        return base64.urlsafe_b64encode(octets).rstrip(b"=").decode("ascii")


def uuid_of(text: str | None) -> Uuid:
    """Return the id that ottla gives as text; zero if there is none."""
    if not text:
        return Uuid(0, 0)
    octets = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    halves = (int.from_bytes(octets[at : at + 8], "big", signed=True) for at in (0, 8))
    return Uuid(*halves)
