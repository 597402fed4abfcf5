"""Exceptions: every error of ottla is a ``KafkaError``.

The message says what happened, where, and what to do; the attributes contain the same for programs.
Neither contains secrets. ``ErrorCode`` names the codes of brokers.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ottla._core import AsyncBatchDelivery, BatchDelivery
    from ottla.error_code import ErrorCode

__all__ = [
    "ArgumentTypeError",
    "Attempt",
    "AuthenticationError",
    "AuthorizationError",
    "BootstrapError",
    "BrokerError",
    "ClosedError",
    "CommitFailedError",
    "ConfigError",
    "ConnectionError",
    "DataLossError",
    "ErrorCode",
    "FencedError",
    "InternalError",
    "KafkaError",
    "OffsetError",
    "ProtocolError",
    "PurgedError",
    "RecordTooLargeError",
    "SchemaError",
    "SerializationError",
    "StateError",
    "TimeoutError",
    "TopicExistsError",
    "TransactionAbortableError",
    "TransactionAbortedError",
    "UnknownTopicError",
    "WakeupError",
]

if not TYPE_CHECKING:  # type checkers would accept any name

    def __getattr__(name: str) -> object:
        # Most programs compare no code; the enumeration's members take time to make.
        if name == "ErrorCode":
            from ottla.error_code import ErrorCode

            return ErrorCode
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@dataclass(frozen=True)
class Attempt:
    """A failed attempt to connect to one address.

    Attributes:
        address: name and port, and the IP address if the name has several; None if unknown.
        phase: the step that failed: ``DNS``, ``TCP``, ``TLS``, ``ApiVersions``, ``SASL`` or
            ``Metadata``.
        error: the class of the error.
        message: the cause, and what to do.
    """

    address: str | None
    phase: str | None
    error: type[KafkaError]
    message: str


class KafkaError(Exception):
    """An error of ottla; the base of all others.

    Attributes:
        code: Kafka's error code, if a broker returned one; ``ErrorCode`` has their names.
        name: Kafka's name of that code, such as ``NOT_LEADER_OR_FOLLOWER``.
        retriable: whether the same call may succeed later.
        fatal: whether the object that raised it cannot be used any more.
        maybe_done: whether the operation may have taken effect nevertheless, as with a lost
            acknowledgement.
        context: where it happened, as far as known: ``topic``, ``partition``, ``broker``,
            ``address``, ``api`` and ``phase``. Errors of single records have ``index``, the
            record's index in the arguments of ``send_batch``; errors of serializers have
            ``field``, ``key`` or ``value``, and, if it is an object of a type, the ``path`` in
            it, such as ``items[2].price``.
        attempts: for errors of connecting, the attempts at each address, with phase and cause.
        delivery: for a ``send_batch`` that ended before its last record, the ``BatchDelivery`` or
            ``AsyncBatchDelivery`` of the accepted records. Their number is
            ``context["accepted"]``; to continue, pass the records from ``context["index"]`` on.
    """

    code: int | None = None
    name: str | None = None
    retriable: bool = False
    fatal: bool = False
    maybe_done: bool = False
    delivery: BatchDelivery | AsyncBatchDelivery | None = None

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.context: dict[str, Any] = {}
        self.attempts: list[Attempt] = []


class ConfigError(KafkaError, ValueError):
    """A configuration key or an argument is invalid."""


class ArgumentTypeError(ConfigError, TypeError):
    """An argument is of the wrong type, such as a str in place of a list of names."""


class BootstrapError(KafkaError):
    """No bootstrap server could be used; ``attempts`` and the message list the causes."""


class ConnectionError(KafkaError, builtins.ConnectionError):  # noqa: A001 - used as errors.ConnectionError
    """A connection could not be opened, or was lost."""


class AuthenticationError(KafkaError):
    """Credentials, or a certificate, were rejected."""


class AuthorizationError(KafkaError):
    """The principal lacks the permission (ACL) for the operation."""


class TimeoutError(KafkaError, builtins.TimeoutError):  # noqa: A001 - used as errors.TimeoutError
    """A deadline passed; the message contains the last failure."""


class BrokerError(KafkaError):
    """A broker returned an error that has no class of its own; see ``code`` and ``name``."""


class UnknownTopicError(KafkaError):
    """A topic or a partition does not exist."""


class TopicExistsError(KafkaError):
    """The topic to create already exists."""


class RecordTooLargeError(KafkaError, ValueError):
    """A record is too large.

    It is larger than ``max.request.size`` or ``buffer.memory``, or, if a broker rejected it, than
    the topic's ``max.message.bytes``.
    """


class CommitFailedError(KafkaError):
    """The group is rebalancing, or has removed this member.

    The offsets were not committed, and other members may read its partitions.
    """


class DataLossError(KafkaError):
    """Records of the requested range no longer exist."""


class FencedError(KafkaError):
    """Fenced by a newer instance with the same id, or by the members of a group."""


class TransactionAbortableError(KafkaError):
    """The transaction has failed: abort it, then go on with the next one.

    A record or a request of the transaction failed, so it cannot be committed. The message
    contains the cause.
    """


class TransactionAbortedError(KafkaError):
    """The record was not written, because its transaction was aborted."""


class PurgedError(KafkaError):
    """The application has given the record up with ``purge()``.

    ``maybe_done`` says whether it may have been written.
    """


class ProtocolError(KafkaError):
    """The peer sent malformed data."""


class SchemaError(KafkaError):
    """A schema does not exist, is invalid, or does not fit the data."""


class SerializationError(KafkaError):
    """A key or a value cannot be converted to or from bytes.

    If a serializer or a deserializer failed, its exception is the cause.
    """


class OffsetError(KafkaError):
    """A partition has no valid position, and ``auto.offset.reset`` is ``none``.

    Nothing is committed, or the offset is not in the log. ``seek`` to a position to continue.
    """


class StateError(KafkaError):
    """The object's state does not allow the call.

    For example, a partition is not assigned, or another thread polls the consumer.
    """


class WakeupError(KafkaError):
    """``wakeup()`` ended the poll."""


class ClosedError(KafkaError):
    """The object was closed, or was created by another process before a fork."""


class InternalError(KafkaError):
    """A background task of ottla failed: a bug. The message names the task and the cause."""


def _from_core(
    class_name: str,
    message: str,
    code: tuple[int, str] | None,
    retriable: bool,
    fatal: bool,
    maybe_done: bool,
    context: Mapping[str, Any],
    attempts: Sequence[tuple[str | None, str | None, str, str]],
) -> KafkaError:
    """Return the exception for an error of the Rust core."""
    error: KafkaError = globals()[class_name](message)
    if code is not None:
        error.code, error.name = code
    error.retriable, error.fatal, error.maybe_done = retriable, fatal, maybe_done
    error.context = {name: value for name, value in context.items() if value is not None}
    error.attempts = [
        Attempt(address, phase, globals()[name], message)
        for address, phase, name, message in attempts
    ]
    return error


def described(error: BaseException) -> str:
    """Return the class and the message of an exception.

    Its ``repr`` may contain all of the data that it is about, as that of a UnicodeDecodeError does.
    """
    return f"{type(error).__name__}: {error}"


def _serialization_error(
    topic: str, field: str, index: int | None, cause: BaseException
) -> SerializationError:
    """Return the exception for an exception of a serializer."""
    where = "" if index is None else f" at index {index}"
    error = SerializationError(
        f"the {field}{where} for topic {topic!r} cannot be serialized: {described(cause)}"
    )
    error.context = {"topic": topic, "field": field}
    if index is not None:
        error.context["index"] = index
    return _caused(error, cause)


def _deserialization_error(
    topic: str, partition: int, offset: int, field: str, cause: BaseException
) -> SerializationError:
    """Return the exception for an exception of a deserializer."""
    error = SerializationError(
        f"the {field} of the record at offset {offset} of {topic}-{partition} cannot be "
        f"deserialized: {described(cause)}; seek past it to continue"
    )
    error.context = {"topic": topic, "partition": partition, "offset": offset, "field": field}
    return _caused(error, cause)


def _undecodable(topic: str, field: str, cause: BaseException) -> SerializationError:
    """Return the exception for one of a type's conversion, of bytes that are of no record."""
    error = SerializationError(
        f"the {field} of topic {topic!r} cannot be decoded: {described(cause)}"
    )
    error.context = {"topic": topic, "field": field}
    return _caused(error, cause)


def _caused(error: SerializationError, cause: BaseException) -> SerializationError:
    if path := getattr(cause, "path", None):
        error.context["path"] = path
    error.__cause__ = cause
    return error
