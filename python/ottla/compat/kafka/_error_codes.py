"""The exception classes of error codes, made from Kafka's names for them.

The class of ``UNKNOWN_MEMBER_ID`` is ``UnknownMemberIdError``; the exceptions to this rule are
listed. Invariant: a class is made once, so that ``except`` and ``is`` work.
"""

from __future__ import annotations

from ottla.compat._broker_codes import (
    INVALID_METADATA,
    OLDER_NAMES,
    OTHER_CLASSES,
    RETRIABLE,
    camel_case,
)
from ottla.compat.kafka._error_types import InvalidMetadataError, KafkaError, RetriableError
from ottla.error_code import ErrorCode

__all__ = ["BrokerResponseError", "by_name", "class_of"]

# The newest code that kafka-python has a class for.
_NEWEST = ErrorCode.VOTER_NOT_FOUND

_OTHER_CLASSES = {**OTHER_CLASSES, ErrorCode.CORRUPT_MESSAGE: "CorruptRecordError"}

_RETRIABLE = RETRIABLE | frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        ErrorCode.INVALID_SHARE_SESSION_EPOCH,
    }
)
_INVALID_METADATA = INVALID_METADATA | frozenset(
    {
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
_AUTHORIZATION = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    }
)


class BrokerResponseError(KafkaError):
    """A broker returned an error.

    Attributes:
        errno: the error code.
        message: Kafka's name of the code.
        description: the same in lower case.
    """

    errno: int | None = None
    message: str | None = None
    description: str | None = None

    def __str__(self) -> str:
        return f"[Error {self.errno}] {super().__str__()}"


class AuthorizationError(BrokerResponseError):
    """The principal lacks the permission (ACL) for the operation."""


def _bases(code: ErrorCode) -> tuple[type[KafkaError], ...]:
    if code in _INVALID_METADATA:
        return (InvalidMetadataError, BrokerResponseError)
    if code in _RETRIABLE:
        return (RetriableError, BrokerResponseError)
    return (AuthorizationError,) if code in _AUTHORIZATION else (BrokerResponseError,)


def _made(code: ErrorCode) -> type[BrokerResponseError]:
    message = OLDER_NAMES.get(code, code.name)
    name = _OTHER_CLASSES.get(code, f"{camel_case(message)}Error")
    description = message.lower().replace("_", " ")
    return type(
        name,
        _bases(code),
        {
            "__doc__": f"Error {code.value}: {description}.",
            "__module__": "ottla.compat.kafka.errors",
            "errno": code.value,
            "message": message,
            "description": description,
        },
    )


class_of: dict[int, type[BrokerResponseError]] = {
    code.value: _made(code) for code in ErrorCode if code.value <= _NEWEST
}

_by_name = {error.__name__: error for error in class_of.values()}
_by_name["AuthorizationError"] = AuthorizationError


def by_name(name: str) -> type[BrokerResponseError]:
    """Return the class with this name."""
    return _by_name[name]


AuthorizationError.__module__ = BrokerResponseError.__module__ = "ottla.compat.kafka.errors"
