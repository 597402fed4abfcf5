"""``AsyncDeserializingConsumer``: an ``AIOConsumer`` that deserializes keys and values.

Invariants: making one is awaited, since builders may be asynchronous; what was built for it is
closed after it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Generic

from ottla.compat.confluent_kafka import _serde_builder as serde
from ottla.compat.confluent_kafka._messages import Message
from ottla.compat.confluent_kafka.aio._AIOConsumer import AIOConsumer
from ottla.compat.confluent_kafka.error import (
    ConsumeError,
    KeyDeserializationError,
    ValueDeserializationError,
)
from ottla.compat.confluent_kafka.serialization import MessageField, SerializationContext

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    K = TypeVar("K", default=Any)
    V = TypeVar("V", default=Any)
else:  # a default has no effect at run time
    from typing import TypeVar

    K = TypeVar("K")
    V = TypeVar("V")


class AsyncDeserializingConsumer(AIOConsumer, Generic[K, V]):
    """A consumer for asyncio with deserializers: ``await AsyncDeserializingConsumer(conf)``.

    Args:
        conf: the configuration of an ``AIOConsumer``, with deserializers or builders as for
            ``DeserializingConsumer``; both may be asynchronous.
        kwargs: as for ``AIOConsumer``.
    """

    def __init__(self, conf: dict[str, Any], **kwargs: Any) -> None:
        self._arguments = (conf, kwargs)

    def __await__(self) -> Generator[Any, None, AsyncDeserializingConsumer[K, V]]:
        return self._made().__await__()

    async def _made(self) -> AsyncDeserializingConsumer[K, V]:
        conf, kwargs = self._arguments
        self._serdes = await serde.abuilt(conf, "deserializer")
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

    async def close(self, *args: Any, **kwargs: Any) -> Any:
        """Close the consumer, then the deserializers that were built for it."""
        result = await super().close(*args, **kwargs)
        await self._serdes.aclose()
        return result

    async def poll(self, *args: Any, **kwargs: Any) -> Message | None:
        """Return a message with its key and value deserialized, or None after the timeout.

        Raises:
            KeyDeserializationError: the key cannot be deserialized.
            ValueDeserializationError: the value cannot be deserialized.
            ConsumeError: an error in the place of a message.
        """
        message = await super().poll(*args, **kwargs)
        if message is None:
            return None
        failed = message.error()
        if failed is not None:
            raise ConsumeError(failed, kafka_message=message)
        return await self._deserialized(message)

    async def consume(self, *args: Any, **kwargs: Any) -> list[Message]:
        """Return messages with their keys and values deserialized; errors stay as they are."""
        messages = await super().consume(*args, **kwargs)
        return [
            message if message.error() is not None else await self._deserialized(message)
            for message in messages
        ]

    async def _deserialized(self, message: Message) -> Message:
        context = SerializationContext(message.topic(), MessageField.KEY, message.headers())
        key, value = message.key(), message.value()
        if self._serdes.key is not None:
            try:
                key = await serde.awaited(self._serdes.key(key, context))
            except Exception as error:
                raise KeyDeserializationError(error, message) from error
        if self._serdes.value is not None:
            context.field = MessageField.VALUE
            try:
                value = await serde.awaited(self._serdes.value(value, context))
            except Exception as error:
                raise ValueDeserializationError(error, message) from error
        message.set_key(key)
        message.set_value(value)
        return message
