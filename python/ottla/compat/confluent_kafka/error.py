"""The errors of the classes with serializers and deserializers (``confluent_kafka.error``).

Invariant: each is a ``KafkaException`` whose ``args[0]`` is the ``KafkaError``, and keeps the
exception that it stands for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ottla.compat.confluent_kafka._kafka_error import KafkaError, KafkaException
from ottla.compat.confluent_kafka.serialization import SerializationError

if TYPE_CHECKING:
    from ottla.compat.confluent_kafka._messages import Message

__all__ = [
    "ConsumeError",
    "KafkaError",
    "KafkaException",
    "KeyDeserializationError",
    "KeySerializationError",
    "ProduceError",
    "ValueDeserializationError",
    "ValueSerializationError",
]


class _KafkaClientError(KafkaException):
    """An error of a client, with the exception and the message that it is about.

    Args:
        kafka_error: the error.
        exception: the original exception, if there is one.
        kafka_message: the message as the broker returned it, if there is one.
    """

    def __init__(
        self,
        kafka_error: KafkaError,
        exception: BaseException | None = None,
        kafka_message: Message | None = None,
    ) -> None:
        super().__init__(kafka_error)
        self.exception = exception
        self.kafka_message = kafka_message

    @property
    def code(self) -> int:
        """The code of the error."""
        return cast(KafkaError, self.args[0]).code()

    @property
    def name(self) -> str:
        """The name of the error's code."""
        return cast(KafkaError, self.args[0]).name()


class ConsumeError(_KafkaClientError):
    """A message could not be consumed."""


class KeyDeserializationError(ConsumeError, SerializationError):
    """The key of a message could not be deserialized."""

    def __init__(
        self, exception: BaseException | None = None, kafka_message: Message | None = None
    ) -> None:
        error = KafkaError(KafkaError._KEY_DESERIALIZATION, str(exception))
        super().__init__(error, exception, kafka_message)


class ValueDeserializationError(ConsumeError, SerializationError):
    """The value of a message could not be deserialized."""

    def __init__(
        self, exception: BaseException | None = None, kafka_message: Message | None = None
    ) -> None:
        error = KafkaError(KafkaError._VALUE_DESERIALIZATION, str(exception))
        super().__init__(error, exception, kafka_message)


class ProduceError(_KafkaClientError):
    """A message could not be produced."""

    def __init__(self, kafka_error: KafkaError, exception: BaseException | None = None) -> None:
        super().__init__(kafka_error, exception)


class KeySerializationError(ProduceError, SerializationError):
    """The key of a message could not be serialized."""

    def __init__(self, exception: BaseException | None = None) -> None:
        super().__init__(KafkaError(KafkaError._KEY_SERIALIZATION, str(exception)), exception)


class ValueSerializationError(ProduceError, SerializationError):
    """The value of a message could not be serialized."""

    def __init__(self, exception: BaseException | None = None) -> None:
        super().__init__(KafkaError(KafkaError._VALUE_SERIALIZATION, str(exception)), exception)
