"""``DeserializingShareConsumer``: a share consumer that deserializes keys and values.

Invariants: a message that cannot be deserialized keeps its bytes and gets an error, and the others
are not affected; every message can be acknowledged.
"""

from __future__ import annotations

from typing import Any

from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._messages import Message
from ottla.compat.confluent_kafka._model import Messages
from ottla.compat.confluent_kafka._share_consumer import ShareConsumer
from ottla.compat.confluent_kafka.serialization import MessageField, SerializationContext


class DeserializingShareConsumer(ShareConsumer):
    """A share consumer with deserializers.

    Args:
        conf: the configuration of a ``ShareConsumer``, with ``key.deserializer`` and
            ``value.deserializer``.
    """

    def __init__(self, conf: dict[str, Any]) -> None:
        rest = dict(conf)
        self._key_deserializer = rest.pop("key.deserializer", None)
        self._value_deserializer = rest.pop("value.deserializer", None)
        super().__init__(rest)

    def poll(self, timeout: float = -1) -> Messages:
        """Return acquired messages with their keys and values deserialized.

        A message that cannot be deserialized has the error ``_KEY_DESERIALIZATION`` or
        ``_VALUE_DESERIALIZATION``.
        """
        messages = super().poll(timeout)
        for message in messages:
            if message.error() is None:
                self._deserialize(message)
        return messages

    def _deserialize(self, message: Message) -> None:
        topic = message.topic()
        if topic is None:
            raise TypeError("Message topic is None")
        context = SerializationContext(topic, MessageField.KEY, message.headers())
        key, value = message.key(), message.value()
        code = KafkaError._KEY_DESERIALIZATION
        try:
            if self._key_deserializer is not None:
                key = self._key_deserializer(key, context)
            code = KafkaError._VALUE_DESERIALIZATION
            if self._value_deserializer is not None:
                context.field = MessageField.VALUE
                value = self._value_deserializer(value, context)
        except Exception as error:  # noqa: BLE001 - whatever a deserializer raises is the error
            message.set_error(KafkaError(code, str(error)))
            return
        message.set_key(key)
        message.set_value(value)
