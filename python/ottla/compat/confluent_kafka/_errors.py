"""ottla's exceptions as librdkafka's errors: the only place that maps one to the other.

Invariants: a code of a broker stays that code; every other error has the local code that librdkafka
uses for the same situation; the text is ottla's, which says where and what to do and contains no
secret.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from ottla import errors
from ottla.compat.confluent_kafka._kafka_error import KafkaError, KafkaException
from ottla.error_code import ErrorCode

# By class of ottla.errors, the most specific first.
_CODES: tuple[tuple[type[errors.KafkaError], int], ...] = (
    (errors.ConfigError, KafkaError._INVALID_ARG),
    (errors.BootstrapError, KafkaError._TRANSPORT),
    (errors.ConnectionError, KafkaError._TRANSPORT),
    (errors.AuthenticationError, KafkaError._AUTHENTICATION),
    (errors.AuthorizationError, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    (errors.TimeoutError, KafkaError._TIMED_OUT),
    (errors.UnknownTopicError, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    (errors.TopicExistsError, ErrorCode.TOPIC_ALREADY_EXISTS),
    (errors.RecordTooLargeError, ErrorCode.MESSAGE_TOO_LARGE),
    (errors.CommitFailedError, ErrorCode.ILLEGAL_GENERATION),
    (errors.DataLossError, KafkaError._AUTO_OFFSET_RESET),
    (errors.FencedError, KafkaError._FENCED),
    (errors.TransactionAbortableError, KafkaError._STATE),
    (errors.TransactionAbortedError, KafkaError._PURGE_QUEUE),
    (errors.ProtocolError, KafkaError._BAD_MSG),
    (errors.SchemaError, KafkaError._VALUE_DESERIALIZATION),
    (errors.SerializationError, KafkaError._VALUE_DESERIALIZATION),
    (errors.OffsetError, KafkaError._AUTO_OFFSET_RESET),
    (errors.StateError, KafkaError._STATE),
    (errors.WakeupError, KafkaError._INTR),
    (errors.ClosedError, KafkaError._DESTROY),
    (errors.InternalError, KafkaError._FAIL),
)


def code_of(error: BaseException) -> int:
    """Return librdkafka's code for an exception of ottla."""
    if isinstance(error, errors.AuthenticationError):
        # librdkafka's own code, whatever a broker's was.
        return KafkaError._AUTHENTICATION
    if isinstance(error, errors.KafkaError) and error.code is not None:
        return error.code
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    if isinstance(error, builtins.TimeoutError):
        return KafkaError._TIMED_OUT
    return KafkaError._FAIL


def kafka_error(
    error: BaseException,
    code: int | None = None,
    *,
    fatal: bool = False,
    retriable: bool = False,
    txn_requires_abort: bool = False,
) -> KafkaError:
    """Return the ``KafkaError`` for an exception of ottla.

    Args:
        error: the exception.
        code: the code, where the call gives it another one than the exception's class.
        fatal: whether the client cannot be used any more.
        retriable: whether the application may repeat the call. Only calls of transactions say so.
        txn_requires_abort: whether the application must abort the transaction.
    """
    code = code_of(error) if code is None else code
    return KafkaError(code, str(error), fatal, retriable, txn_requires_abort)


def kafka_exception(error: BaseException, code: int | None = None) -> KafkaException:
    """Return the ``KafkaException`` for an exception of ottla, which is its cause."""
    made = KafkaException(kafka_error(error, code))
    made.__cause__ = error
    return made


def failure(code: int, reason: str | None = None, **flags: bool) -> KafkaException:
    """Return a ``KafkaException`` with a ``KafkaError`` of this code, to raise."""
    return KafkaException(KafkaError(code, reason, **flags))


def raise_invalid(reason: str) -> NoReturn:
    """Raise the error for an invalid argument or configuration."""
    raise failure(KafkaError._INVALID_ARG, reason)


@contextmanager
def translated() -> Iterator[None]:
    """Raise ottla's exceptions in the block as ``KafkaException``."""
    try:
        yield
    except errors.KafkaError as error:
        raise kafka_exception(error) from error
