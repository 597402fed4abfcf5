"""``AsyncSerializingProducer``: an ``AIOProducer`` that serializes keys and values.

Invariants: making one is awaited, since builders may be asynchronous; what was built for it is
closed after it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Generic

from ottla.compat.confluent_kafka import _serde_builder as serde
from ottla.compat.confluent_kafka._messages import Message
from ottla.compat.confluent_kafka.aio.producer import AIOProducer
from ottla.compat.confluent_kafka.error import KeySerializationError, ValueSerializationError
from ottla.compat.confluent_kafka.serialization import MessageField, SerializationContext

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    K = TypeVar("K", default=Any)
    V = TypeVar("V", default=Any)
else:  # a default has no effect at run time
    from typing import TypeVar

    K = TypeVar("K")
    V = TypeVar("V")


class AsyncSerializingProducer(AIOProducer, Generic[K, V]):
    """A producer for asyncio with serializers: ``producer = await AsyncSerializingProducer(conf)``.

    Args:
        conf: the configuration of an ``AIOProducer``, with serializers or builders as for
            ``SerializingProducer``; both may be asynchronous.
        kwargs: as for ``AIOProducer``.
    """

    def __init__(self, conf: dict[str, Any], **kwargs: Any) -> None:
        self._arguments = (conf, kwargs)

    def __await__(self) -> Generator[Any, None, AsyncSerializingProducer[K, V]]:
        return self._made().__await__()

    async def _made(self) -> AsyncSerializingProducer[K, V]:
        conf, kwargs = self._arguments
        self._serdes = await serde.abuilt(conf, "serializer")
        try:
            super().__init__(self._serdes.config, **kwargs)
            both = (self._serdes.key, self._serdes.value)
            serde.offer("set_async_cluster_id_resolver", self._resolve_cluster_id, both)
        except BaseException:
            with contextlib.suppress(Exception):
                await self._serdes.aclose()
            raise
        return self

    async def _resolve_cluster_id(self) -> Any:
        return await self.cluster_id(timeout=serde.CLUSTER_ID_TIMEOUT)

    async def close(self) -> None:
        """Close the producer, then the serializers that were built for it."""
        await super().close()
        await self._serdes.aclose()

    async def produce(  # type: ignore[override]  # the key comes first, as in confluent-kafka
        self,
        topic: str,
        key: K | None = None,
        value: V | None = None,
        partition: int = -1,
        timestamp: int = 0,
        headers: Any = None,
    ) -> asyncio.Future[Message]:
        """Serialize a message, and queue it.

        Raises:
            KeySerializationError: the key cannot be serialized.
            ValueSerializationError: the value cannot be serialized.
        """
        if self._is_closed:
            raise RuntimeError("Producer has been closed")
        if not isinstance(topic, str):
            raise TypeError(f"topic must be a str, not {type(topic).__name__}")
        context = SerializationContext(topic, MessageField.KEY, headers)
        key_bytes: Any = key
        if self._serdes.key is not None:
            try:
                key_bytes = await serde.awaited(self._serdes.key(key, context))
            except Exception as error:
                raise KeySerializationError(error) from error
        context.field = MessageField.VALUE
        value_bytes: Any = value
        if self._serdes.value is not None:
            try:
                value_bytes = await serde.awaited(self._serdes.value(value, context))
            except Exception as error:
                raise ValueSerializationError(error) from error
        return await super().produce(
            topic,
            value_bytes,
            key_bytes,
            partition=partition,
            timestamp=timestamp,
            headers=headers,
        )
