"""What the calls of ``AIOKafkaAdminClient`` share: the started core, and timeouts."""

from __future__ import annotations

import ottla
from ottla.compat.aiokafka.errors import KafkaError

__all__ = ["AdminCalls"]


class AdminCalls:
    """The base of ``AIOKafkaAdminClient``."""

    _engine: ottla.AsyncAdmin | None
    _request_timeout_ms: int

    def _started(self) -> ottla.AsyncAdmin:
        if self._engine is None:
            raise KafkaError("the admin client is not started: await start() first")
        return self._engine

    def _seconds(self, timeout_ms: int | None) -> float:
        return (timeout_ms or self._request_timeout_ms) / 1000
