"""What can go wrong, as exceptions.

Every error of ottla is a ``KafkaError``. Its message says what happened, where, and what to do;
its fields say the same for programs. No secret is ever part of either.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ottla._core import AsyncBatchDelivery, BatchDelivery

__all__ = [
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
    "FencedError",
    "InternalError",
    "KafkaError",
    "OffsetError",
    "ProtocolError",
    "RecordTooLargeError",
    "SerializationError",
    "StateError",
    "TimeoutError",
    "TopicExistsError",
    "UnknownTopicError",
    "WakeupError",
]


@dataclass(frozen=True)
class Attempt:
    """One address that was tried in vain.

    Attributes:
        address: name and port, and the IP address where the name has several; ``None`` if it is
            not known.
        phase: how far it got: ``DNS``, ``TCP``, ``TLS``, ``ApiVersions``, ``SASL`` or ``Metadata``.
        error: the class of what went wrong.
        message: why, and what to do.
    """

    address: str | None
    phase: str | None
    error: type[KafkaError]
    message: str


class KafkaError(Exception):
    """An error of ottla.

    Attributes:
        code: Kafka's error code, where a broker gave one.
        name: Kafka's name of that code, such as ``NOT_LEADER_OR_FOLLOWER``.
        retriable: whether the same call may succeed later.
        fatal: whether the object that raised it is of no use any more.
        maybe_done: whether what was asked for may have happened all the same, as with a record
            whose acknowledgement was lost.
        context: where it happened; those of ``topic``, ``partition``, ``broker``, ``address``,
            ``api`` and ``phase`` that are known. Errors of single records have ``index``, the
            record's place in what was passed to ``send_batch``, and those of serializers ``field``.
        attempts: for errors of connecting, every address that was tried, with its phase and cause.
        delivery: for a ``send_batch`` that ended before its last record, the promise of those that
            were accepted: a ``BatchDelivery`` or ``AsyncBatchDelivery``. Their number is in
            ``context["accepted"]``; to go on, pass the records from ``context["index"]`` on.
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
    """A configuration key or an argument is wrong."""


class BootstrapError(KafkaError):
    """None of the bootstrap servers could be used; the message lists each with its cause,
    and so does ``attempts``."""


class ConnectionError(KafkaError, builtins.ConnectionError):  # noqa: A001 - used as errors.ConnectionError
    """A connection could not be made, or ended."""


class AuthenticationError(KafkaError):
    """Credentials were refused."""


class AuthorizationError(KafkaError):
    """The principal may not do this."""


class TimeoutError(KafkaError, builtins.TimeoutError):  # noqa: A001 - used as errors.TimeoutError
    """A deadline passed; the message says what failed last."""


class BrokerError(KafkaError):
    """A broker answered with an error that has no class of its own."""


class UnknownTopicError(KafkaError):
    """A topic or a partition does not exist."""


class TopicExistsError(KafkaError):
    """A topic exists already."""


class RecordTooLargeError(KafkaError, ValueError):
    """A record is larger than ``max.request.size`` or ``buffer.memory`` or, where a broker refused
    it, than the topic's ``max.message.bytes``."""


class CommitFailedError(KafkaError):
    """The group has gone on without this member: its offsets were not committed, and its
    partitions may have other readers."""


class DataLossError(KafkaError):
    """Records that were asked for are gone."""


class FencedError(KafkaError):
    """Somebody newer has taken this client's place."""


class ProtocolError(KafkaError):
    """Bytes do not hold what they should."""


class SerializationError(KafkaError):
    """A value cannot be turned into bytes, or bytes into a value."""


class OffsetError(KafkaError):
    """A partition has no position: nothing is committed, or it is not in the log, and
    ``auto.offset.reset`` is none. ``seek`` to where to go on."""


class StateError(KafkaError):
    """The call does not fit the state the object is in: a partition that is not assigned, a
    consumer that another thread polls."""


class WakeupError(KafkaError):
    """The poll was ended by ``wakeup()``."""


class ClosedError(KafkaError):
    """The object was closed, or belongs to another process."""


class InternalError(KafkaError):
    """A task of ottla's own has died: a bug. The message says which task, and why."""


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
    """The exception for an error of the Rust core."""
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


def _not_serialized(
    topic: str, field: str, index: int | None, cause: BaseException
) -> SerializationError:
    """The exception for what a serializer has raised."""
    where = "" if index is None else f" at index {index}"
    kind = type(cause).__name__
    error = SerializationError(
        f"the {field}{where} for topic {topic!r} cannot be serialized: {kind}: {cause}"
    )
    error.context = {"topic": topic, "field": field}
    if index is not None:
        error.context["index"] = index
    error.__cause__ = cause
    return error


def _not_deserialized(
    topic: str, partition: int, offset: int, field: str, cause: BaseException
) -> SerializationError:
    """The exception for what a deserializer has raised."""
    kind = type(cause).__name__
    error = SerializationError(
        f"the {field} of the record at offset {offset} of {topic}-{partition} cannot be "
        f"deserialized: {kind}: {cause}; seek past it to go on"
    )
    error.context = {"topic": topic, "partition": partition, "offset": offset, "field": field}
    error.__cause__ = cause
    return error
