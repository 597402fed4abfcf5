"""Types of arguments that several classes take."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from typing_extensions import TypeVar

from ottla._core.delivery import RecordMetadata
from ottla._core.offsets import OffsetAndMetadata
from ottla._core.records import Record
from ottla.deserializers import Deserializer
from ottla.errors import KafkaError
from ottla.serializers import Serializer

_T = TypeVar("_T")

BytesLike: TypeAlias = bytes | bytearray | memoryview | str
Headers: TypeAlias = Sequence[tuple[str | bytes, BytesLike | None]] | Mapping[str, BytesLike | None]
SerializerLike: TypeAlias = Serializer | Callable[[Any], bytes | str | None]
DeserializerLike: TypeAlias = Deserializer[_T] | Callable[[bytes], _T]
DeliveryCallback: TypeAlias = Callable[[KafkaError | None, RecordMetadata], object]

TopicPartition: TypeAlias = tuple[str, int]
Offsets: TypeAlias = Mapping[TopicPartition, int | OffsetAndMetadata]
OffsetsOrRecord: TypeAlias = Offsets | Record[Any, Any]
RebalanceCallback: TypeAlias = Callable[[Any, list[TopicPartition]], object]
CommitCallback: TypeAlias = Callable[
    [KafkaError | None, dict[TopicPartition, OffsetAndMetadata]], object
]
AcknowledgementCommitCallback: TypeAlias = Callable[
    [KafkaError | None, dict[TopicPartition, list[tuple[int, int]]]], object
]
