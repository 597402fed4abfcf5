"""The names and groups of brokers' error codes that aiokafka and kafka-python have in common.

Both clients began as one and kept Kafka's older names. Invariant: a code is here only if both
clients agree on it; what one of them has alone is in its own package.
"""

from __future__ import annotations

from ottla.error_code import ErrorCode

__all__ = ["INVALID_METADATA", "OLDER_NAMES", "OTHER_CLASSES", "RETRIABLE", "camel_case"]

OLDER_NAMES = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "UNKNOWN",
    ErrorCode.NONE: "NO_ERROR",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "NOT_LEADER_FOR_PARTITION",
    ErrorCode.MESSAGE_TOO_LARGE: "MESSAGE_SIZE_TOO_LARGE",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "INVALID_TOPIC",
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: "INVALID_REPLICATION_ASSIGNMENT",
}
"""Kafka's older names of codes; the others have the name of ``ErrorCode``."""

OTHER_CLASSES = {
    ErrorCode.INVALID_FETCH_SIZE: "InvalidFetchRequestError",
    ErrorCode.INVALID_CONFIG: "InvalidConfigurationError",
}
"""The names of classes that no name of Kafka explains."""

RETRIABLE = frozenset(
    {
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_CONTROLLER,
    }
)
"""The retriable codes, without those of ``INVALID_METADATA``."""

INVALID_METADATA = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
"""The retriable codes after which a client looks the metadata up again."""


def camel_case(name: str) -> str:
    """Return the beginning of a class's name: ``NotController`` for ``NOT_CONTROLLER``."""
    return "".join(word.capitalize() for word in name.removesuffix("_ERROR").split("_"))
