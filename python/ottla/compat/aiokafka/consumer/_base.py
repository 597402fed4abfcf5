"""What the calls of ``AIOKafkaConsumer`` share: its parts once it is started, and its checks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import ottla
from ottla.compat.aiokafka.errors import IllegalStateError
from ottla.compat.aiokafka.structs import TopicPartition

if TYPE_CHECKING:
    from ottla.compat.aiokafka.consumer._fetcher import Fetcher
    from ottla.compat.aiokafka.consumer._subscription_state import SubscriptionState

__all__ = ["ConsumerBase"]


class ConsumerBase:
    """The base of ``AIOKafkaConsumer``."""

    _engine: ottla.AsyncConsumer
    _fetcher: Fetcher | None
    _subscription: SubscriptionState
    _group_id: str | None
    _isolation_level: str
    _request_timeout_ms: int

    def _reader(self) -> Fetcher:
        """Return what reads, once the consumer is started."""
        if self._fetcher is None:
            raise IllegalStateError("the consumer is not started: await start() first")
        return self._fetcher

    def _require_assigned(self, partitions: Iterable[TopicPartition]) -> None:
        missing = set(partitions) - self._subscription.assigned_partitions()
        if missing:
            raise IllegalStateError(f"Partitions {missing} are not assigned")
