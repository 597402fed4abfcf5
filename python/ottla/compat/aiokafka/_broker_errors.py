"""The exceptions of brokers' error codes, made from Kafka's names for them; see ``errors``.

Invariant: one class a code, as in aiokafka. Only what does not follow from ``ErrorCode`` is here.
"""

from __future__ import annotations

from ottla.compat.aiokafka._client_errors import BrokerResponseError
from ottla.error_code import ErrorCode

__all__ = ["ALIASES", "CLASSES"]

# The codes that aiokafka has classes for, up to the newest of its first ones, and the later one.
_CODES = [code for code in ErrorCode if code <= ErrorCode.LISTENER_NOT_FOUND]
_CODES.append(ErrorCode.MEMBER_ID_REQUIRED)
# The names of classes of later codes do not end in "Error".
_LAST_ERROR = ErrorCode.POLICY_VIOLATION

_OTHER_NAMES = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "UnknownError",
    ErrorCode.NONE: "NoError",
    ErrorCode.CORRUPT_MESSAGE: "CorruptRecordException",
    ErrorCode.INVALID_FETCH_SIZE: "InvalidFetchRequestError",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "NotLeaderForPartitionError",
    ErrorCode.MESSAGE_TOO_LARGE: "MessageSizeTooLargeError",
    ErrorCode.NETWORK_EXCEPTION: "StaleLeaderEpochCodeError",
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "GroupLoadInProgressError",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "GroupCoordinatorNotAvailableError",
    ErrorCode.NOT_COORDINATOR: "NotCoordinatorForGroupError",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "InvalidTopicError",
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: "InvalidReplicationAssignmentError",
    ErrorCode.INVALID_CONFIG: "InvalidConfigurationError",
    ErrorCode.KAFKA_STORAGE_ERROR: "KafkaStorageError",
}
# Kafka's names of that time.
_OTHER_MESSAGES = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "UNKNOWN",
    ErrorCode.NONE: "NO_ERROR",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "NOT_LEADER_FOR_PARTITION",
    ErrorCode.MESSAGE_TOO_LARGE: "MESSAGE_SIZE_TOO_LARGE",
    ErrorCode.NETWORK_EXCEPTION: "STALE_LEADER_EPOCH_CODE",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "INVALID_TOPIC",
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: "INVALID_REPLICATION_ASSIGNMENT",
}

_INVALID_METADATA = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.KAFKA_STORAGE_ERROR,
}
_RETRIABLE = _INVALID_METADATA | {
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.NOT_CONTROLLER,
}


def _made(code: ErrorCode) -> type[BrokerResponseError]:
    name = "".join(word.capitalize() for word in code.name.split("_"))
    if code <= _LAST_ERROR:
        name += "Error"
    message = _OTHER_MESSAGES.get(code, code.name)
    description = f"The broker responded with {message} ({code.value})."
    return type(
        _OTHER_NAMES.get(code, name),
        (BrokerResponseError,),
        {
            "__doc__": description,
            "__module__": "ottla.compat.aiokafka.errors",
            "errno": code.value,
            "message": message,
            "description": description,
            "retriable": code in _RETRIABLE,
            "invalid_metadata": code in _INVALID_METADATA,
        },
    )


CLASSES: dict[int, type[BrokerResponseError]] = {code.value: _made(code) for code in _CODES}
"""The classes by code."""

ALIASES: dict[str, type[BrokerResponseError]] = {
    "CoordinatorLoadInProgressError": CLASSES[ErrorCode.COORDINATOR_LOAD_IN_PROGRESS],
    "CoordinatorNotAvailableError": CLASSES[ErrorCode.COORDINATOR_NOT_AVAILABLE],
    "InvalidMessageError": CLASSES[ErrorCode.CORRUPT_MESSAGE],
    "NotCoordinatorError": CLASSES[ErrorCode.NOT_COORDINATOR],
}
"""The second names of some classes."""
