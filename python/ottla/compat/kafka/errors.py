"""The exceptions of kafka-python: one class for each error of the client, and for each error code.

Programs catch these by name and by base class, and read ``errno``, ``retriable`` and
``invalid_metadata``. Invariant: each code of ``ottla.errors.ErrorCode`` up to the newest that
kafka-python knows has exactly one class; the class of any other code is an ``UnknownError`` with
that code. ``_errors`` chooses the exception for an error of ottla.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ottla.compat.kafka._error_codes import BrokerResponseError, by_name, class_of
from ottla.compat.kafka._error_types import InvalidMetadataError, KafkaError, RetriableError

__all__ = [
    "BrokerResponseError",
    "Cancelled",
    "CommitFailedError",
    "CorrelationIdError",
    "IllegalArgumentError",
    "IllegalStateError",
    "IncompatibleBrokerVersion",
    "InvalidMetadataError",
    "InvalidReceiveError",
    "KafkaConfigurationError",
    "KafkaConnectionError",
    "KafkaError",
    "KafkaProtocolError",
    "KafkaTimeoutError",
    "LogTruncationError",
    "MetadataEmptyBrokerList",
    "NoBrokersAvailable",
    "NoOffsetForPartitionError",
    "NodeNotReadyError",
    "QuotaViolationError",
    "RetriableError",
    "StaleMetadata",
    "TooManyInFlightRequests",
    "TransactionAbortedError",
    "UnknownBrokerIdError",
    "UnrecognizedBrokerVersion",
    "UnsupportedCodecError",
    "for_code",
    "kafka_errors",
]


class Cancelled(RetriableError):
    """The request was cancelled before it was answered."""


class CommitFailedError(KafkaError):
    """The group has given the partitions to other members; nothing was committed."""

    def __init__(self, *args: Any) -> None:
        super().__init__(
            *args or ("The group has rebalanced: other members may own the partitions.",)
        )


class IllegalArgumentError(KafkaError):
    """An argument is invalid."""


class IllegalStateError(KafkaError):
    """The state of the object does not allow the call."""


class KafkaConfigurationError(KafkaError):
    """A configuration value is invalid, or values contradict each other."""


class KafkaConnectionError(InvalidMetadataError):
    """A connection was not opened, or was lost."""


class KafkaProtocolError(KafkaError):
    """The broker sent malformed data."""


class CorrelationIdError(RetriableError, KafkaProtocolError):
    """The response belongs to another request."""


class InvalidReceiveError(KafkaProtocolError):
    """The size of a response is invalid."""


class KafkaTimeoutError(RetriableError):
    """A deadline has passed."""


class NoBrokersAvailable(KafkaTimeoutError):
    """No bootstrap server could be used.

    kafka-python 2 raises this and version 3 ``KafkaTimeoutError``: programs for either catch it.
    """


class MetadataEmptyBrokerList(RetriableError):
    """The cluster has reported no brokers."""


class NoOffsetForPartitionError(KafkaError):
    """A partition has no committed offset, and ``auto_offset_reset`` names no other start."""


class LogTruncationError(KafkaError):
    """The log ends before the position.

    Attributes:
        divergent_offsets: where the logs part, by partition; None where it is unknown.
    """

    def __init__(self, divergent_offsets: Any, *args: Any) -> None:
        self.divergent_offsets = divergent_offsets
        super().__init__(*args or (f"The log was truncated: {divergent_offsets}",))


class NodeNotReadyError(RetriableError):
    """There is no connection to the broker yet."""


class UnknownBrokerIdError(KafkaError):
    """No broker has this id."""


class QuotaViolationError(KafkaError):
    """A quota is exceeded."""


class StaleMetadata(InvalidMetadataError):
    """The metadata is out of date."""


class TooManyInFlightRequests(RetriableError):
    """The connection has no room for another request."""


class UnrecognizedBrokerVersion(KafkaError):
    """The version of the broker is not known."""


class UnsupportedCodecError(KafkaError):
    """The compression codec is not supported."""


class TransactionAbortedError(KafkaError):
    """The record was not written, because its transaction was aborted."""

    message = "the transaction was aborted"


class IncompatibleBrokerVersion(by_name("UnsupportedVersionError")):  # type: ignore[misc]
    """The brokers are too old for the call."""


kafka_errors: dict[int, type[BrokerResponseError]] = class_of


def for_code(error_code: int) -> type[BrokerResponseError]:
    """Return the class of an error code."""
    known = kafka_errors.get(error_code)
    if known is not None:
        return known
    unknown = kafka_errors[-1]
    return type("UnrecognizedBrokerError", (unknown,), {"errno": error_code})


globals().update({error.__name__: error for error in kafka_errors.values()})
AuthorizationError = by_name("AuthorizationError")
CorruptRecordException = by_name("CorruptRecordError")
__all__ += [error.__name__ for error in kafka_errors.values()]
__all__ += ["AuthorizationError", "CorruptRecordException"]

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[BrokerResponseError]: ...
