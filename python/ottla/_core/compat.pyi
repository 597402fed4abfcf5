"""The hot paths of ``ottla.compat``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import GenericAlias
from typing import Any, Generic, TypeVar, final

from typing_extensions import Self, disjoint_base

from ottla._core.aliases import TopicPartition
from ottla._core.consumer import Consumer
from ottla._core.offsets import OffsetAndMetadata
from ottla._core.producer import Producer
from ottla._core.records import Record
from ottla.errors import KafkaError

_KT = TypeVar("_KT")
_VT = TypeVar("_VT")

@disjoint_base
class ConsumerRecord(Generic[_KT, _VT]):
    """A record that was read.

    Args:
        topic: the topic.
        partition: the partition.
        offset: the offset.
        timestamp: milliseconds since 1970.
        timestamp_type: 0 if the producer set it, 1 if the broker did.
        key: the key, or what a deserializer made of it.
        value: the value, or what a deserializer made of it.
        checksum: always None for records of today's format.
        serialized_key_size: the number of bytes of the key; -1 for null.
        serialized_value_size: the number of bytes of the value; -1 for null.
        headers: pairs of a name and a value.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: _KT | None
    value: _VT | None
    checksum: int | None
    serialized_key_size: int
    serialized_value_size: int
    headers: Sequence[tuple[str, bytes]]

    __hash__: None  # type: ignore[assignment]
    __match_args__ = (
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestamp_type",
        "key",
        "value",
        "checksum",
        "serialized_key_size",
        "serialized_value_size",
        "headers",
    )

    def __new__(
        cls,
        topic: str,
        partition: int,
        offset: int,
        timestamp: int,
        timestamp_type: int,
        key: _KT | None,
        value: _VT | None,
        checksum: int | None,
        serialized_key_size: int,
        serialized_value_size: int,
        headers: Sequence[tuple[str, bytes]],
    ) -> ConsumerRecord[_KT, _VT]: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def consumer_records(
    records: list[Record],
) -> list[tuple[str, int, list[ConsumerRecord[Any, Any]]]]:
    """Return polled records as runs of one partition: topic, number and records.

    Args:
        records: the records, whose keys and values are bytes.
    """

@disjoint_base
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

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Message: ...
    def __init__(
        self,
        topic: Any = None,
        partition: int = -1,
        offset: int = -1001,
        key: Any = None,
        value: Any = None,
        headers: Any = None,
        error: Any = None,
        timestamp: tuple[int, int] | None = None,
        latency: float = -1.0,
        leader_epoch: int = -1,
        delivery_count: int = -1,
    ) -> None: ...
    def topic(self) -> Any:
        """Return the topic, or None."""

    def partition(self) -> int | None:
        """Return the partition, or None."""

    def offset(self) -> int | None:
        """Return the offset, or None."""

    def key(self) -> Any:
        """Return the key: bytes, what a deserializer made of it, or None."""

    def value(self) -> Any:
        """Return the value: bytes, what a deserializer made of it, or None."""

    def deserialized_key(self) -> Any:
        """Return the key, as ``key()`` does."""

    def deserialized_value(self) -> Any:
        """Return the value, as ``value()`` does."""

    def headers(self) -> Any:
        """Return the headers as a list of pairs, or None if there are none."""

    def error(self) -> Any:
        """Return the error, or None for a proper message."""

    def timestamp(self) -> tuple[int, int]:
        """Return the type of the timestamp and the milliseconds since 1970."""

    def latency(self) -> float | None:
        """Return the seconds between ``produce()`` and the acknowledgement, or None."""

    def leader_epoch(self) -> int | None:
        """Return the leader epoch, or None."""

    def delivery_count(self) -> int | None:
        """Return how often the share group has delivered the record, or None."""

    def set_topic(self, topic: Any) -> None:
        """Set what ``topic()`` returns."""

    def set_key(self, key: Any) -> None:
        """Set what ``key()`` returns."""

    def set_value(self, value: Any) -> None:
        """Set what ``value()`` returns."""

    def set_headers(self, headers: Any) -> None:
        """Set what ``headers()`` returns."""

    def set_error(self, error: Any) -> None:
        """Set what ``error()`` returns."""

    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class OffsetStore:
    """The offsets of the assigned partitions. Any thread may use it.

    Args:
        consumer: the consumer.
        stores: whether the offsets of returned messages are stored, for the next commit.
    """

    def __new__(cls, consumer: Consumer[Any, Any], stores: bool) -> OffsetStore: ...
    @property
    def is_drained(self) -> bool:
        """Whether the last poll has found no message."""
    def add(self, keys: Iterable[TopicPartition]) -> None:
        """Begin with partitions that were assigned."""

    def remove(self, keys: Iterable[TopicPartition]) -> None:
        """Forget partitions that were given up or lost."""

    def store(self, key: TopicPartition, offset: OffsetAndMetadata) -> bool:
        """Store an offset; return False if the partition is not assigned."""

    def position(self, key: TopicPartition) -> int | None:
        """Return the offset after the last record that was returned, and after what follows without one; or None."""

    def sought(self, key: TopicPartition) -> None:
        """Forget what was stored before a seek."""

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Note that offsets were committed."""

    def to_commit(
        self, keys: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return what was stored and is not committed yet, by partition: of some, or of all."""

    def snapshot(self) -> dict[TopicPartition, tuple[int | None, int | None, int | None]]:
        """Return position, stored and committed offset by partition, for statistics."""

@final
class MessageReader:
    """Returns the records of a consumer as messages.

    Args:
        consumer: the consumer.
        store: where the offsets of returned messages are noted.
    """

    def __new__(cls, consumer: Consumer[Any, Any], store: OffsetStore) -> MessageReader: ...
    def buffered(self) -> Message | None:
        """Return a message that is buffered, or None if there is none or a poll is due."""

    def poll(self, limit: int | None, timeout: float) -> list[Message]:
        """Return messages as soon as there are any, or an empty list after the timeout.

        Args:
            limit: the maximum number of messages.
            timeout: seconds to wait.
        """

@final
class ReportQueue:
    """The messages of a producer until their reports are served.

    Args:
        producer: the producer that sends them.
        max_messages: how many may be in the queue.
        max_size: the largest message that ``produce`` sends the short way, in bytes of key and
            value.
        max_bytes: the unacknowledged bytes up to which it does.
        error_of: makes the error of a report from an ``ottla.errors.KafkaError``.
        only_errors: whether the callbacks of messages that succeed are left out.
    """

    def __new__(
        cls,
        producer: Producer,
        max_messages: int,
        max_size: int,
        max_bytes: int,
        error_of: Callable[[KafkaError], Any],
        only_errors: bool,
    ) -> ReportQueue: ...
    def open(self, topic: str) -> None:
        """Let messages of a topic be sent at once."""

    def close(self, topic: str) -> None:
        """Let messages of a topic wait."""

    def send(
        self,
        topic: str,
        value: bytes | str | None,
        key: bytes | str | None,
        partition: int,
        headers: Any,
        timestamp: int,
        callback: Any,
        produced_at: float,
    ) -> None:
        """Send a message that was counted already; wait for its topic and for buffer memory.

        Args:
            topic: the topic.
            value: the payload.
            key: the key.
            partition: the partition, or -1.
            headers: pairs of a name and a value.
            timestamp: milliseconds since 1970, or 0 for now.
            callback: the callback of its report.
            produced_at: when it was produced, by ``now()``.

        Raises:
            KafkaError: the topic is not known, or the message is refused; it still counts.
        """

    def now(self) -> float:
        """Return the time in seconds, for ``send``."""

    def count_waiting(self) -> None:
        """Count a message that waits elsewhere.

        Raises:
            BufferError: the queue is full.
        """

    def forget(self, count: int) -> None:
        """Count messages no longer."""

    def serve(self) -> int:
        """Call the callbacks of the completed messages; return their number.

        Callbacks may produce: what completes meanwhile is for the next call.
        """

    def wake(self) -> None:
        """End a wait."""

    def wait(self, timeout: float) -> bool:
        """Wait until there is a completed message or another reason to look, some seconds at most.

        Returns:
            Whether there is a completed message.
        """

    def __len__(self) -> int: ...

@disjoint_base
class MessageProducer:
    """The base of a producer whose reports are polled."""

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self: ...
    def _attach(self, queue: ReportQueue, on_delivery: Any = None) -> None: ...
    def produce(
        self,
        topic: Any,
        value: Any = None,
        key: Any = None,
        partition: int = -1,
        callback: Any = None,
        on_delivery: Any = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        """Queue a message; it is sent in the background.

        Args:
            topic: the topic.
            value: the payload.
            key: the key.
            partition: the partition. Default: the partitioner chooses.
            callback: called by ``poll`` or ``flush`` with an error or None and the message.
            on_delivery: the same.
            timestamp: milliseconds since 1970. Default: now.
            headers: a dict, or a list of pairs.

        Raises:
            BufferError: the queue is full: call ``poll``.
            KafkaException: the message cannot be sent.
        """
