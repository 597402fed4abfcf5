"""How long the application has not polled, beside ``max.poll.interval.ms``.

Invariant: only the time between two polls counts, not that of a poll that waits.
"""

from __future__ import annotations

import time

from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._settings import Settings


class PollGap:
    """The time between the polls of a member.

    Args:
        settings: the consumer's settings.
    """

    def __init__(self, settings: Settings) -> None:
        self._limit = settings.max_poll_interval
        self._last: float | None = None

    def reset(self) -> None:
        """Forget earlier polls: a new membership begins."""
        self._last = None

    def begin(self) -> KafkaError | None:
        """Note that a poll begins; return the error if it comes too late."""
        last, self._last = self._last, None
        if last is None:
            return None
        late = time.monotonic() - last - self._limit
        if late <= 0:
            return None
        limit, over = int(self._limit * 1000), int(late * 1000)
        reason = f"Application maximum poll interval ({limit}ms) exceeded by {over}ms"
        return KafkaError(KafkaError._MAX_POLL_EXCEEDED, reason)

    def end(self) -> None:
        """Note that a poll ends."""
        self._last = time.monotonic()
