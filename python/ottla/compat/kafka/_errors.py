"""The exception of kafka-python for each error of ottla: the only place that knows both.

Invariants: every error of ottla has one; the original is its cause, so that nothing is lost; an
error code decides before a class, except where kafka-python has a class for the situation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ottla import errors
from ottla.compat.kafka import errors as peer

__all__ = ["translated", "translating"]

# Situations that kafka-python names whatever the code is.
_SITUATIONS: list[tuple[type[errors.KafkaError], type[peer.KafkaError]]] = [
    (errors.BootstrapError, peer.NoBrokersAvailable),
    (errors.CommitFailedError, peer.CommitFailedError),
    (errors.TransactionAbortedError, peer.TransactionAbortedError),
]

_CLASSES: list[tuple[type[errors.KafkaError], type[peer.KafkaError]]] = [
    (errors.ConfigError, peer.KafkaConfigurationError),
    (errors.ConnectionError, peer.KafkaConnectionError),
    (errors.AuthenticationError, peer.for_code(errors.ErrorCode.SASL_AUTHENTICATION_FAILED)),
    (errors.AuthorizationError, peer.AuthorizationError),
    (errors.TimeoutError, peer.KafkaTimeoutError),
    (errors.UnknownTopicError, peer.for_code(errors.ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)),
    (errors.TopicExistsError, peer.for_code(errors.ErrorCode.TOPIC_ALREADY_EXISTS)),
    (errors.RecordTooLargeError, peer.for_code(errors.ErrorCode.MESSAGE_TOO_LARGE)),
    # With a code, the offset is not in the log.
    (errors.OffsetError, peer.NoOffsetForPartitionError),
    (errors.DataLossError, peer.for_code(errors.ErrorCode.OFFSET_OUT_OF_RANGE)),
    (errors.FencedError, peer.for_code(errors.ErrorCode.PRODUCER_FENCED)),
    (
        errors.TransactionAbortableError,
        peer.for_code(errors.ErrorCode.TRANSACTION_ABORTABLE),
    ),
    (errors.ProtocolError, peer.KafkaProtocolError),
    (errors.StateError, peer.IllegalStateError),
    (errors.ClosedError, peer.IllegalStateError),
]


# By which brokers refuse a producer that another one with its id has replaced.
_FENCING = (errors.ErrorCode.INVALID_PRODUCER_EPOCH, errors.ErrorCode.PRODUCER_FENCED)


def _class_of(error: errors.KafkaError) -> type[peer.KafkaError]:
    if isinstance(error, errors.FencedError) and error.code in _FENCING:
        return peer.for_code(errors.ErrorCode.PRODUCER_FENCED)
    for known, situation in _SITUATIONS:
        if isinstance(error, known):
            return situation
    # A deadline's last failure may have a code: it is still the deadline that has passed.
    if error.code and not isinstance(error, errors.TimeoutError):
        return peer.for_code(error.code)
    return next(
        (translation for known, translation in _CLASSES if isinstance(error, known)),
        peer.KafkaError,
    )


def translated(error: BaseException) -> BaseException:
    """Return kafka-python's exception for an error of ottla; any other exception is returned."""
    if not isinstance(error, errors.KafkaError):
        return error
    translation = _class_of(error)(str(error))
    translation.__cause__ = error
    return translation


@contextmanager
def translating() -> Iterator[None]:
    """Raise kafka-python's exception for an error of ottla."""
    try:
        yield
    except errors.KafkaError as error:
        raise translated(error) from error
