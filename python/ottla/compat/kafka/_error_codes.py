"""The exception classes of error codes, made from Kafka's names for them.

The class of ``UNKNOWN_MEMBER_ID`` is ``UnknownMemberIdError``; the exceptions to this rule are
listed. Invariant: a class is made once, so that ``except`` and ``is`` work.
"""

from __future__ import annotations

from ottla.compat.kafka._error_types import InvalidMetadataError, KafkaError, RetriableError
from ottla.error_code import ErrorCode

__all__ = ["BrokerResponseError", "by_name", "class_of"]

# The newest code that kafka-python has a class for.
_NEWEST = 127

# Names of kafka-python that do not follow from Kafka's present ones: class, message.
_OTHER_NAMES = {
    -1: ("UnknownError", "UNKNOWN"),
    0: ("NoError", "NO_ERROR"),
    2: ("CorruptRecordError", "CORRUPT_MESSAGE"),
    4: ("InvalidFetchRequestError", "INVALID_FETCH_SIZE"),
    6: ("NotLeaderForPartitionError", "NOT_LEADER_FOR_PARTITION"),
    10: ("MessageSizeTooLargeError", "MESSAGE_SIZE_TOO_LARGE"),
    13: ("NetworkExceptionError", "NETWORK_EXCEPTION"),
    17: ("InvalidTopicError", "INVALID_TOPIC"),
    39: ("InvalidReplicationAssignmentError", "INVALID_REPLICATION_ASSIGNMENT"),
    40: ("InvalidConfigurationError", "INVALID_CONFIG"),
    56: ("KafkaStorageError", "KAFKA_STORAGE_ERROR"),
    106: ("FetchSessionTopicIdError", "FETCH_SESSION_TOPIC_ID_ERROR"),
}

_RETRIABLE = {7, 14, 15, 16, 19, 20, 41, 51, 70, 71, 78, 88, 89, 106, 122, 123}
_INVALID_METADATA = {3, 5, 6, 9, 13, 56, 72, 74, 75, 80, 83, 84, 100, 103}
_AUTHORIZATION = {29, 30, 31, 53, 65}


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


def _bases(code: int) -> tuple[type[KafkaError], ...]:
    if code in _INVALID_METADATA:
        return (InvalidMetadataError, BrokerResponseError)
    if code in _RETRIABLE:
        return (RetriableError, BrokerResponseError)
    return (AuthorizationError,) if code in _AUTHORIZATION else (BrokerResponseError,)


def _made(code: ErrorCode) -> type[BrokerResponseError]:
    camel = "".join(word.capitalize() for word in code.name.split("_"))
    name, message = _OTHER_NAMES.get(code, (f"{camel}Error", code.name))
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
