"""The exceptions of aiokafka that have no broker's code; see ``errors``, which exports them."""

from __future__ import annotations

from typing import Any

__all__ = [
    "AuthenticationFailedError",
    "AuthenticationMethodNotSupported",
    "BrokerResponseError",
    "Cancelled",
    "CommitFailedError",
    "ConsumerStoppedError",
    "CorrelationIdError",
    "IllegalArgumentError",
    "IllegalOperation",
    "IllegalStateError",
    "IncompatibleBrokerVersion",
    "KafkaConfigurationError",
    "KafkaConnectionError",
    "KafkaError",
    "KafkaProtocolError",
    "KafkaTimeoutError",
    "KafkaUnavailableError",
    "MetadataEmptyBrokerList",
    "NoBrokersAvailable",
    "NoOffsetForPartitionError",
    "NodeNotReadyError",
    "ProducerClosed",
    "ProducerFenced",
    "QuotaViolationError",
    "RecordTooLargeError",
    "StaleMetadata",
    "TooManyInFlightRequests",
    "UnrecognizedBrokerVersion",
    "UnsupportedCodecError",
]


class KafkaError(RuntimeError):
    """The base of the errors of Kafka."""

    retriable = False
    # Whether the error shows that metadata is out of date.
    invalid_metadata = False

    def __str__(self) -> str:
        """Return the class's name and the arguments, if there are any."""
        text = super().__str__()
        return f"{type(self).__name__}: {text}" if self.args else type(self).__name__


class IllegalStateError(KafkaError):
    """The object's state does not allow the call, such as a partition that is not assigned."""


class IllegalArgumentError(KafkaError):
    """An argument is invalid."""


class NoBrokersAvailable(KafkaError):
    """No broker is known."""

    retriable = True
    invalid_metadata = True


class NodeNotReadyError(KafkaError):
    """A broker cannot be used yet."""

    retriable = True


class KafkaProtocolError(KafkaError):
    """A broker sent malformed data."""

    retriable = True


class CorrelationIdError(KafkaProtocolError):
    """A response does not belong to the request."""

    retriable = True


class Cancelled(KafkaError):
    """A request was cancelled."""

    retriable = True


class TooManyInFlightRequests(KafkaError):
    """Too many requests are in flight."""

    retriable = True


class StaleMetadata(KafkaError):
    """The metadata is out of date."""

    retriable = True
    invalid_metadata = True


class MetadataEmptyBrokerList(KafkaError):
    """The metadata lists no broker."""

    retriable = True


class UnrecognizedBrokerVersion(KafkaError):
    """The broker's version is unknown."""


class IncompatibleBrokerVersion(KafkaError):
    """The broker does not support a request."""


class CommitFailedError(KafkaError):
    """The group is rebalancing or has removed this member; the offsets were not committed."""

    def __init__(self, *args: Any) -> None:
        """Add the remedy to the arguments."""
        super().__init__(
            "The offsets were not committed, because the group has rebalanced: other members may"
            " read the partitions. If processing takes longer than max_poll_interval_ms, raise it"
            " or lower max_poll_records.",
            *args,
        )


class AuthenticationMethodNotSupported(KafkaError):
    """The broker does not support the SASL mechanism."""


class AuthenticationFailedError(KafkaError):
    """The credentials, or a certificate, were rejected."""


class KafkaUnavailableError(KafkaError):
    """The cluster cannot be used."""


class KafkaTimeoutError(KafkaError):
    """A deadline passed."""


class KafkaConnectionError(KafkaError):
    """No broker could be connected to, or a connection was lost."""

    retriable = True
    invalid_metadata = True


class UnsupportedCodecError(KafkaError):
    """The compression is not supported."""


class KafkaConfigurationError(KafkaError):
    """The configuration is invalid."""


class QuotaViolationError(KafkaError):
    """A quota was exceeded."""


class ConsumerStoppedError(Exception):
    """The consumer was stopped before or during the call."""


class IllegalOperation(Exception):
    """The configuration does not allow the call, such as a commit without a group."""


class NoOffsetForPartitionError(KafkaError):
    """Nothing is committed for a partition, and ``auto_offset_reset`` is ``none``."""


class RecordTooLargeError(KafkaError):
    """A record is too large to be read."""


class ProducerClosed(KafkaError):
    """The producer was stopped."""


class ProducerFenced(KafkaError):
    """A newer producer uses the transactional id, or the transaction timed out."""

    def __init__(
        self,
        msg: str = (
            "a newer producer has the same transactional_id, or the transaction was open for longer"
            " than transaction_timeout_ms"
        ),
    ) -> None:
        """Explain the possible causes, unless there is a message."""
        super().__init__(msg)


class BrokerResponseError(KafkaError):
    """An error with a broker's code."""

    errno: int
    message: str
    description: str = ""

    def __str__(self) -> str:
        """Put the code in front of the text."""
        return f"[Error {self.errno}] {super().__str__()}"
