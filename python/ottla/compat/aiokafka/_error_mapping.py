"""Which exception of aiokafka a program gets for an error of ottla.

Invariant: this is the only place that decides it. Raise the result ``from`` ottla's error, whose
message says where it happened and what to do.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from ottla import errors as ottla_errors
from ottla.compat.aiokafka import errors

__all__ = ["bootstrap_error", "commit_error", "peer_error", "read_error", "translated"]

T = TypeVar("T")

# The first class that matches decides, unless the error has a code that aiokafka has a class for.
_CLASSES: tuple[tuple[type[ottla_errors.KafkaError], type[Exception]], ...] = (
    (ottla_errors.UnknownTopicError, errors.UnknownTopicOrPartitionError),
    (ottla_errors.TopicExistsError, errors.TopicAlreadyExistsError),
    (ottla_errors.RecordTooLargeError, errors.MessageSizeTooLargeError),
    (ottla_errors.CommitFailedError, errors.CommitFailedError),
    (ottla_errors.FencedError, errors.ProducerFenced),
    (ottla_errors.AuthenticationError, errors.AuthenticationFailedError),
    (ottla_errors.BootstrapError, errors.KafkaConnectionError),
    (ottla_errors.ConnectionError, errors.KafkaConnectionError),
    (ottla_errors.TimeoutError, errors.KafkaTimeoutError),
    (ottla_errors.OffsetError, errors.NoOffsetForPartitionError),
    (ottla_errors.ProtocolError, errors.KafkaProtocolError),
    (ottla_errors.StateError, errors.IllegalStateError),
    (ottla_errors.ConfigError, ValueError),
)
# These classes decide even if the error has a code.
_DECISIVE = (ottla_errors.CommitFailedError, ottla_errors.FencedError)


def peer_error(error: ottla_errors.KafkaError) -> Exception:
    """Return the exception for an error of any call."""
    if error.code is not None and not isinstance(error, _DECISIVE):
        known = errors.kafka_errors.get(error.code)
        if known is not None:
            return known(str(error))
    for ours, theirs in _CLASSES:
        if isinstance(error, ours):
            return theirs(str(error))
    return errors.UnknownError(str(error)) if error.code else errors.KafkaError(str(error))


def read_error(error: ottla_errors.KafkaError) -> Exception:
    """Return the exception for an error of reading."""
    if isinstance(error, ottla_errors.OffsetError):
        is_uncommitted = error.code is None and "no offset is committed" in str(error)
        text = str(error)
        if is_uncommitted:
            return errors.NoOffsetForPartitionError(text)
        return errors.OffsetOutOfRangeError(text)
    if isinstance(error, ottla_errors.ProtocolError) and "offset" in error.context:
        return errors.CorruptRecordException(str(error))
    if isinstance(error, ottla_errors.FencedError):
        return errors.KafkaError(str(error))
    return peer_error(error)


def commit_error(error: ottla_errors.KafkaError) -> Exception:
    """Return the exception for an error of a commit: one that belongs to the member failed it."""
    if isinstance(error, ottla_errors.CommitFailedError | ottla_errors.FencedError):
        return errors.CommitFailedError(str(error))
    return peer_error(error)


def bootstrap_error(error: ottla_errors.KafkaError, servers: object) -> Exception:
    """Return the exception for an error of connecting, which aiokafka does not tell apart."""
    if isinstance(error, ottla_errors.ConfigError):
        return ValueError(str(error))
    return errors.KafkaConnectionError(f"Unable to bootstrap from {servers}: {error}")


async def translated(call: Awaitable[T]) -> T:
    """Await a call of ottla, and raise aiokafka's exceptions."""
    try:
        return await call
    except ottla_errors.KafkaError as error:
        raise peer_error(error) from error
