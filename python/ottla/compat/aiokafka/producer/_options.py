"""The arguments of ``AIOKafkaProducer`` beyond those of all clients, as configuration of ottla.

Invariant: without idempotence there is one request in flight, so that a retry keeps the order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ottla.compat.aiokafka.partitioner import DefaultPartitioner

if TYPE_CHECKING:
    from ottla.compat.aiokafka.cluster import ClusterMetadata

__all__ = ["MISSING", "Partitioner", "ProducerOptions"]

Partitioner = Callable[[bytes | None, Sequence[int], Sequence[int]], int]

MISSING: Any = object()
"""The default of ``acks``, which depends on idempotence."""

_COMPRESSIONS = ("gzip", "snappy", "lz4", "zstd", None)


@dataclass
class ProducerOptions:
    """How records are written."""

    acks: Any
    compression_type: str | None
    max_batch_size: int
    partitioner: Partitioner
    max_request_size: int
    linger_ms: int
    enable_idempotence: bool
    transactional_id: str | None
    transaction_timeout_ms: int
    request_timeout_ms: int

    def __post_init__(self) -> None:
        """Apply the defaults that depend on each other, and refuse what aiokafka refuses.

        Raises:
            ValueError: the compression or ``acks`` is invalid.
        """
        if self.acks not in (0, 1, -1, "all", MISSING):
            raise ValueError("Invalid ACKS parameter")
        if self.compression_type not in _COMPRESSIONS:
            raise ValueError("Invalid compression type!")
        if self.transactional_id is not None:
            self.enable_idempotence = True
        if self.enable_idempotence and self.acks not in (-1, "all", MISSING):
            raise ValueError(f"acks={self.acks} not supported if enable_idempotence=True")
        if self.acks is MISSING:
            self.acks = "all" if self.enable_idempotence else 1

    def to_config(self, cluster: ClusterMetadata) -> dict[str, Any]:
        """Return the keyword arguments for ottla's producer.

        Args:
            cluster: knows which partitions have a leader, for a partitioner of the application.
        """
        config: dict[str, Any] = {
            "acks": "all" if self.acks == -1 else str(self.acks),
            "compression_type": self.compression_type or "none",
            "batch_size": self.max_batch_size,
            "max_request_size": self.max_request_size,
            "linger_ms": self.linger_ms,
            "enable_idempotence": self.enable_idempotence,
            "max_block_ms": self.request_timeout_ms,
            "delivery_timeout_ms": 2 * self.request_timeout_ms + self.linger_ms,
        }
        if not self.enable_idempotence:
            config["max_in_flight_requests_per_connection"] = 1
        if self.transactional_id is not None:
            config["transactional_id"] = self.transactional_id
            config["transaction_timeout_ms"] = self.transaction_timeout_ms
        if type(self.partitioner) is DefaultPartitioner:
            config["partitioner_class"] = "murmur2_random"
        else:
            config["partitioner"] = _partitioner(self.partitioner, cluster)
        return config


def _partitioner(partitioner: Partitioner, cluster: ClusterMetadata) -> Callable[..., int]:
    """Return an application's partitioner as ottla calls it."""

    def choose(topic: str, key: bytes | None, value: bytes | None, partitions: int) -> int:
        del value
        everything = list(range(partitions))
        available = cluster.available_partitions_for_topic(topic)
        return partitioner(key, everything, everything if available is None else list(available))

    return choose
