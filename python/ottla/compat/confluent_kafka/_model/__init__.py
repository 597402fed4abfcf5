"""The values that clients and ``admin`` share (``confluent_kafka._model``).

Invariant: the members of the enumerations have librdkafka's numbers.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, overload

from ottla.compat.confluent_kafka import _constants as numbers

if TYPE_CHECKING:
    from ottla.compat.confluent_kafka._messages import Message
    from ottla.compat.confluent_kafka._topic_partition import TopicPartition


class _Ordered(enum.Enum):
    """An enumeration whose members are ordered by their numbers."""

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return bool(self.value < other.value)


class Node:
    """A broker, as descriptions of groups and topics name it."""

    def __init__(self, id: int, host: str, port: int, rack: str | None = None) -> None:
        self.id = id
        self.id_string = str(id)
        self.host = host
        self.port = port
        self.rack = rack

    def __str__(self) -> str:
        rack = f"(Rack - {self.rack})" if self.rack else ""
        return f"({self.id}) {self.host}:{self.port} {rack}"


class ConsumerGroupTopicPartitions:
    """A group, and partitions with its offsets; None stands for all partitions."""

    def __init__(self, group_id: str, topic_partitions: list[TopicPartition] | None = None) -> None:
        self.group_id = group_id
        self.topic_partitions = topic_partitions


class ConsumerGroupState(_Ordered):
    """The state of a group. ``UNKOWN`` is an old spelling of ``UNKNOWN``."""

    UNKNOWN = numbers.CONSUMER_GROUP_STATE_UNKNOWN
    UNKOWN = UNKNOWN
    PREPARING_REBALANCING = numbers.CONSUMER_GROUP_STATE_PREPARING_REBALANCE
    COMPLETING_REBALANCING = numbers.CONSUMER_GROUP_STATE_COMPLETING_REBALANCE
    STABLE = numbers.CONSUMER_GROUP_STATE_STABLE
    DEAD = numbers.CONSUMER_GROUP_STATE_DEAD
    EMPTY = numbers.CONSUMER_GROUP_STATE_EMPTY


class ConsumerGroupType(_Ordered):
    """The protocol of a group."""

    UNKNOWN = numbers.CONSUMER_GROUP_TYPE_UNKNOWN
    CONSUMER = numbers.CONSUMER_GROUP_TYPE_CONSUMER
    CLASSIC = numbers.CONSUMER_GROUP_TYPE_CLASSIC


class TopicCollection:
    """Topics, by their names."""

    def __init__(self, topic_names: list[str]) -> None:
        self.topic_names = topic_names


class TopicPartitionInfo:
    """A partition in the description of a topic."""

    def __init__(self, id: int, leader: Node, replicas: list[Node], isr: list[Node]) -> None:
        self.id = id
        self.leader = leader
        self.replicas = replicas
        self.isr = isr


class IsolationLevel(_Ordered):
    """Whether offsets of open and aborted transactions count."""

    READ_UNCOMMITTED = numbers.ISOLATION_LEVEL_READ_UNCOMMITTED
    READ_COMMITTED = numbers.ISOLATION_LEVEL_READ_COMMITTED


class ElectionType(_Ordered):
    """Which replica becomes the leader."""

    PREFERRED = numbers.ELECTION_TYPE_PREFERRED
    UNCLEAN = numbers.ELECTION_TYPE_UNCLEAN


class AcknowledgeType(enum.IntEnum):
    """What becomes of a record that a share consumer has received."""

    ACCEPT = numbers.SHARE_ACKNOWLEDGE_TYPE_ACCEPT
    RELEASE = numbers.SHARE_ACKNOWLEDGE_TYPE_RELEASE
    REJECT = numbers.SHARE_ACKNOWLEDGE_TYPE_REJECT


class Messages:
    """The messages of one poll of a share consumer: a sequence that cannot be changed."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._records = list(messages)

    @classmethod
    def _from_list(cls, records: list[Message]) -> Messages:
        """Return a batch that takes over the list, without a copy."""
        batch = cls.__new__(cls)
        batch._records = records
        return batch

    def records(self) -> list[Message]:
        """Return the messages in a new list."""
        return list(self._records)

    def count(self) -> int:
        """Return the number of messages."""
        return len(self._records)

    def is_empty(self) -> bool:
        """Return whether there is no message."""
        return not self._records

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._records)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Messages: ...
    def __getitem__(self, index: int | slice) -> Message | Messages:
        if isinstance(index, slice):
            return self._from_list(self._records[index])
        return self._records[index]

    def __repr__(self) -> str:
        return f"Messages({self._records!r})"
