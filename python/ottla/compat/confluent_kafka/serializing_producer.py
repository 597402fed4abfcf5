"""``SerializingProducer``: a producer that serializes keys and values.

Invariants: a message that cannot be produced never reaches a serializer; what was built for this
producer is closed after it.
"""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic

from ottla.compat.confluent_kafka import _serde_builder as serde
from ottla.compat.confluent_kafka._producer import Producer
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


class SerializingProducer(Producer, Generic[K, V]):
    """A producer with serializers.

    Args:
        conf: the configuration of a ``Producer``, with ``key.serializer`` and
            ``value.serializer``, or builders in ``key.serializer.builder`` and
            ``value.serializer.builder``.
    """

    def __init__(self, conf: dict[str, Any]) -> None:
        self._serdes = serde.built(conf, "serializer")
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

    def produce(  # type: ignore[override]  # the key comes first, as in confluent-kafka
        self,
        topic: str,
        key: K | None = None,
        value: V | None = None,
        partition: int = -1,
        on_delivery: Any = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        """Serialize a message, and queue it.

        Raises:
            KeySerializationError: the key cannot be serialized.
            ValueSerializationError: the value cannot be serialized.
        """
        self._open()
        if not isinstance(topic, str):
            raise TypeError(f"topic must be a str, not {type(topic).__name__}")
        context = SerializationContext(topic, MessageField.KEY, headers)
        key_bytes: Any = key
        if self._serdes.key is not None:
            try:
                key_bytes = self._serdes.key(key, context)
            except Exception as error:
                raise KeySerializationError(error) from error
        context.field = MessageField.VALUE
        value_bytes: Any = value
        if self._serdes.value is not None:
            try:
                value_bytes = self._serdes.value(value, context)
            except Exception as error:
                raise ValueSerializationError(error) from error
        super().produce(
            topic,
            value_bytes,
            key_bytes,
            headers=headers,
            partition=partition,
            timestamp=timestamp,
            on_delivery=on_delivery,
        )

    def close(self) -> bool:
        """Close the producer, then the serializers that were built for it."""
        result = super().close()
        self._serdes.close()
        return result

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
