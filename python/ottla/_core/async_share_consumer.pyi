"""The operations of ``ottla.AsyncShareConsumer`` as native futures."""

from asyncio import Future
from collections.abc import Mapping, Sequence
from types import GenericAlias
from typing import Any, Generic

from typing_extensions import Self, TypeVar, Unpack, disjoint_base

from ottla._core.aliases import (
    AcknowledgementCommitCallback,
    DeserializerLike,
    TopicPartition,
)
from ottla._core.client import AsyncClient, Client
from ottla._core.records import Record, RecordBatch
from ottla._core.share_consumer_base import ShareConsumerBase
from ottla.config_types import ConsumerConfig
from ottla.errors import KafkaError

# Of a consumer: what its deserializers return. Its records have None for null.
_K = TypeVar("_K", covariant=True, default=bytes)
_V = TypeVar("_V", covariant=True, default=bytes)

@disjoint_base
class AsyncShareConsumerBase(ShareConsumerBase, Generic[_K, _V]):
    """The methods of ``AsyncShareConsumer`` that return native futures."""

    def __new__(
        cls,
        bootstrap: str | Sequence[str] | Mapping[str, Any] | Client | AsyncClient | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        topics: Sequence[str] | None = None,
        key_deserializer: DeserializerLike[_K] | None = None,
        value_deserializer: DeserializerLike[_V] | None = None,
        timeout: float | None = None,
        **kwargs: Unpack[ConsumerConfig],
    ) -> Self: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    def connect(self) -> Future[None]:
        """Connect to the cluster, unless it is connected already.

        ``async with`` and the first poll connect, too.

        Raises:
            AuthenticationError: the credentials, or the certificate of either side, were rejected.
            BootstrapError: no bootstrap server could be used; the message lists each with its
                cause.
        """
    def _lock_poll(self) -> None: ...
    def _unlock_poll(self) -> None: ...
    def _take_buffered_record(self) -> Record[_K | None, _V | None] | None: ...
    def _wait(self, timeout: float, begins: bool, is_batch: bool) -> Future[bool]: ...
    def _pop_records(self, max_records: int | None) -> list[Record[_K | None, _V | None]]: ...
    def _pop_batch(
        self, max_rows: int, columns: list[str] | None, include_headers: bool
    ) -> RecordBatch | None: ...
    def _commit(self, timeout: float | None) -> Future[dict[TopicPartition, KafkaError | None]]: ...
    def _next_callback(
        self,
    ) -> (
        tuple[
            AcknowledgementCommitCallback,
            KafkaError | None,
            dict[TopicPartition, list[tuple[int, int]]],
        ]
        | None
    ): ...
    def _close(self, timeout: float) -> Future[None]: ...
