"""The arguments of ``AIOKafkaConsumer`` beyond those of all clients, as configuration of ottla.

Invariant: the core never commits by itself; ``_auto_commit`` does, with aiokafka's rules. The
rebalance timeout is the core's ``max.poll.interval.ms``, since the background poll is what the core
waits for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ottla.compat.aiokafka._connection_options import log
from ottla.compat.aiokafka.coordinator._assignor_adapter import assignment_strategy
from ottla.compat.aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor

__all__ = ["ConsumerOptions"]

_ISOLATION_LEVELS = ("read_uncommitted", "read_committed")
_RESET_POLICIES = ("earliest", "latest", "none")


@dataclass(frozen=True)
class ConsumerOptions:
    """What a consumer reads, and how it takes part in its group."""

    group_id: str | None
    group_instance_id: str | None
    fetch_max_wait_ms: int
    fetch_max_bytes: int
    fetch_min_bytes: int
    max_partition_fetch_bytes: int
    auto_offset_reset: str
    check_crcs: bool
    partition_assignment_strategy: Sequence[type[AbstractPartitionAssignor]]
    max_poll_interval_ms: int
    rebalance_timeout_ms: int | None
    session_timeout_ms: int
    heartbeat_interval_ms: int
    exclude_internal_topics: bool
    isolation_level: str
    client_rack: str | None

    @property
    def rejoin_ms(self) -> int:
        """For how long a rebalance waits for this member."""
        timeout = self.rebalance_timeout_ms or self.session_timeout_ms
        # The background poll must be able to stop in time.
        return max(1, min(timeout, self.max_poll_interval_ms // 2))

    @property
    def idle_limit(self) -> float:
        """Seconds without a reader after which the background poll stops.

        The member leaves its group ``rejoin_ms`` later.
        """
        return (self.max_poll_interval_ms - self.rejoin_ms) / 1000

    def to_config(self) -> dict[str, Any]:
        """Return the keyword arguments for ottla's consumer.

        Raises:
            ValueError: the isolation level is unknown.
        """
        if self.isolation_level not in _ISOLATION_LEVELS:
            raise ValueError(f"Incorrect isolation level {self.isolation_level}")
        reset = self.auto_offset_reset
        if reset not in _RESET_POLICIES:
            log.warning("auto_offset_reset=%s is unknown; latest is used", reset)
            reset = "latest"
        return {
            "group_id": self.group_id,
            "group_instance_id": self.group_instance_id,
            # A seek waits for the fetch in flight; programs wait for records for as long as this.
            "fetch_max_wait_ms": self.fetch_max_wait_ms * 9 // 10,
            "fetch_max_bytes": self.fetch_max_bytes,
            "fetch_min_bytes": self.fetch_min_bytes,
            "max_partition_fetch_bytes": self.max_partition_fetch_bytes,
            "auto_offset_reset": reset,
            "check_crcs": self.check_crcs,
            "partition_assignment_strategy": assignment_strategy(
                self.partition_assignment_strategy
            ),
            "max_poll_interval_ms": self.rejoin_ms,
            "session_timeout_ms": self.session_timeout_ms,
            # The core refuses intervals that a session does not outlast.
            "heartbeat_interval_ms": max(
                1, min(self.heartbeat_interval_ms, self.session_timeout_ms // 2)
            ),
            "isolation_level": self.isolation_level,
            "client_rack": self.client_rack,
            "enable_auto_commit": False,
            "allow_auto_create_topics": True,
        }
