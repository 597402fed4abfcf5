"""``DeserializingConsumer``: a consumer that deserializes keys and values.

Invariants: an error of reading is raised, and has the message; a message whose key or value cannot
be deserialized keeps its bytes; what was built for this consumer is closed after it.
"""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic

from ottla.compat.confluent_kafka import _serde_builder as serde
from ottla.compat.confluent_kafka._consumer import Consumer
from ottla.compat.confluent_kafka._messages import Message
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


class DeserializingConsumer(Consumer, Generic[K, V]):
    """A consumer with deserializers.

    Args:
        conf: the configuration of a ``Consumer``, with ``key.deserializer`` and
            ``value.deserializer``, or builders in ``key.deserializer.builder`` and
            ``value.deserializer.builder``.
    """

    def __init__(self, conf: dict[str, Any]) -> None:
        self._serdes = serde.built(conf, "deserializer")
        try:
            super().__init__(self._serdes.config)
            both = (self._serdes.key, self._serdes.value)
            serde.offer("set_cluster_id_resolver", self._resolve_cluster_id, both)
        except BaseException:
            with contextlib.suppress(Exception):
                self._serdes.close()
            raise

    def _resolve_cluster_id(self) -> str:
        return self.cluster_id(timeout=serde.CLUSTER_ID_TIMEOUT)

    def poll(self, timeout: float = -1) -> Message | None:
        """Return a message with its key and value deserialized, or None after the timeout.

        Raises:
            KeyDeserializationError: the key cannot be deserialized.
            ValueDeserializationError: the value cannot be deserialized.
            ConsumeError: an error in the place of a message.
        """
        message = super().poll(timeout)
        if message is None:
            return None
        error = message.error()
        if error is not None:
            raise ConsumeError(error, kafka_message=message)
        return self._deserialize(message)

    def _deserialize(self, message: Message) -> Message:
        context = SerializationContext(message.topic(), MessageField.KEY, message.headers())
        key, value = message.key(), message.value()
        if self._serdes.key is not None:
            try:
                key = self._serdes.key(key, context)
            except Exception as error:
                raise KeyDeserializationError(error, message) from error
        if self._serdes.value is not None:
            context.field = MessageField.VALUE
            try:
                value = self._serdes.value(value, context)
            except Exception as error:
                raise ValueDeserializationError(error, message) from error
        message.set_key(key)
        message.set_value(value)
        return message

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Not implemented, as in confluent-kafka: use ``poll``."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the consumer, then the deserializers that were built for it."""
        super().close()
        self._serdes.close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
