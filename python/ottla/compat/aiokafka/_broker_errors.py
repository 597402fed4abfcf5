"""The exceptions of brokers' error codes, made from Kafka's names for them; see ``errors``.

Invariant: one class a code, as in aiokafka. Only what does not follow from ``ErrorCode`` is here.
"""

from __future__ import annotations

from ottla.compat._broker_codes import (
    INVALID_METADATA,
    OLDER_NAMES,
    OTHER_CLASSES,
    RETRIABLE,
    camel_case,
)
from ottla.compat.aiokafka._client_errors import BrokerResponseError
from ottla.error_code import ErrorCode

__all__ = ["ALIASES", "CLASSES"]

# The codes that aiokafka has classes for, up to the newest of its first ones, and the later one.
_CODES = [code for code in ErrorCode if code <= ErrorCode.LISTENER_NOT_FOUND]
_CODES.append(ErrorCode.MEMBER_ID_REQUIRED)
# The names of classes of later codes do not end in "Error".
_LAST_ERROR = ErrorCode.POLICY_VIOLATION

_OTHER_NAMES = {
    **OTHER_CLASSES,
    ErrorCode.CORRUPT_MESSAGE: "CorruptRecordException",
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "GroupLoadInProgressError",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "GroupCoordinatorNotAvailableError",
    ErrorCode.NOT_COORDINATOR: "NotCoordinatorForGroupError",
    ErrorCode.KAFKA_STORAGE_ERROR: "KafkaStorageError",
}
_OTHER_MESSAGES = {**OLDER_NAMES, ErrorCode.NETWORK_EXCEPTION: "STALE_LEADER_EPOCH_CODE"}


def _made(code: ErrorCode) -> type[BrokerResponseError]:
    message = _OTHER_MESSAGES.get(code, code.name)
    name = camel_case(message)
    if code <= _LAST_ERROR:
        name += "Error"
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
            "retriable": code in RETRIABLE | INVALID_METADATA,
            "invalid_metadata": code in INVALID_METADATA,
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
