"""When a consumer has last polled, and last exchanged a heartbeat with its group.

Liveness probes read these from kafka-python's ``_coordinator``. Invariant: the times are those of
real requests, as the client's statistics have them; a response counts once it is due by the
average latency.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import ottla
from ottla.compat.kafka.structs import MemberState

__all__ = ["CoordinatorView", "Heartbeats"]

_API = "Heartbeat"
_NEVER = float("-inf")


class Heartbeats:
    """Times by ``time.monotonic()``; minus infinity for never."""

    def __init__(self, consumer: ottla.Consumer, state: Callable[[], str]) -> None:
        self._consumer = consumer
        self._state = state
        self._received = _NEVER
        self.last_poll = _NEVER

    @property
    def last_send(self) -> float:
        """When a heartbeat was last sent."""
        sent = self._consumer.request_statistics().by_api.get(_API)
        return _NEVER if sent is None else time.monotonic() - sent.last_sent

    @property
    def last_receive(self) -> float:
        """When a heartbeat was last answered."""
        sent = self._consumer.request_statistics().by_api.get(_API)
        if sent is not None and sent.latency_avg is not None:
            due = time.monotonic() - sent.last_sent + sent.latency_avg
            if due <= time.monotonic():
                self._received = max(self._received, due)
        return self._received

    @property
    def last_reset(self) -> float:
        """When the session last began anew: each response to a heartbeat renews it."""
        return self.last_receive

    @property
    def heartbeat_failed(self) -> bool:
        """Whether the consumer is no longer a member of its group."""
        return self._state() != MemberState.STABLE


class CoordinatorView:
    """The membership of a consumer."""

    def __init__(self, consumer: ottla.Consumer, state: Callable[[], str]) -> None:
        self.heartbeat = Heartbeats(consumer, state)
        self._state = state

    @property
    def state(self) -> str:
        """A ``MemberState``."""
        return self._state()
