"""What ``poll`` serves beside messages: ``error_cb``, ``throttle_cb``, ``stats_cb`` and logs.

The state of the connections is looked at whenever the application polls; no thread does it.
Invariants: a callback runs on the thread that polls, and its exception is the poll's; a failure is
reported once until its connection works again; no callback runs twice for one event.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import ottla
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._settings import Settings
from ottla.compat.confluent_kafka._throttle import ThrottleEvent

# Seconds between two looks at the connections.
INTERVAL = 0.05

_numbers = itertools.count(1)
_PHASES = {
    "DNS": KafkaError._RESOLVE,
    "TLS": KafkaError._SSL,
    "SASL": KafkaError._AUTHENTICATION,
}
_Key = tuple[int, str, str]


def _key(status: ottla.ConnectionStatus) -> _Key:
    return status.broker, status.role, status.address


def _failure(status: ottla.ConnectionStatus) -> KafkaError:
    phases = status.phases
    code = _PHASES.get(phases[-1][0] if phases else "", KafkaError._TRANSPORT)
    return KafkaError(code, f"{status.address}/{status.broker}: {status.last_error}")


class ClientEvents:
    """The events of one client.

    Args:
        settings: the client's settings, with the callbacks.
        connections: returns the state of the client's connections.
        statistics: returns the statistics as JSON.
    """

    def __init__(
        self,
        settings: Settings,
        connections: Callable[[], Iterable[ottla.ConnectionStatus]],
        statistics: Callable[[], str],
    ) -> None:
        self.name = f"{settings.client_id}#{settings.kind.split()[-1]}-{next(_numbers)}"
        self._settings = settings
        self._connections = connections
        self._statistics = statistics
        self._failed: dict[_Key, str] = {}
        self._throttled: set[_Key] = set()
        self._all_down = False
        self._next_look = 0.0
        interval = settings.statistics_interval
        has_statistics = interval > 0 and settings.stats_cb is not None
        self._next_statistics = time.monotonic() + interval if has_statistics else float("inf")
        self._watches = settings.watches_connections
        self._pending: deque[Callable[[], object]] = deque()
        if settings.debug and settings.logger is not None:
            text = f"ottla {ottla.__version__} with the settings of librdkafka (debug)"
            self._log(logging.DEBUG, "INIT", text)

    def wait_at_most(self, seconds: float) -> float:
        """Return how long a poll may wait before it must serve events again."""
        if self._watches:
            seconds = min(seconds, INTERVAL)
        if self._next_statistics != float("inf"):
            seconds = min(seconds, max(self._next_statistics - time.monotonic(), 0.0))
        return seconds

    def add_error(self, error: KafkaError) -> None:
        """Report an error that the client has found elsewhere."""
        if self._settings.error_cb is not None:
            callback = self._settings.error_cb
            self._pending.append(lambda: callback(error))

    def serve(self) -> int:
        """Call the callbacks of what has happened, and return their number."""
        now = time.monotonic()
        if self._watches and now >= self._next_look:
            self._next_look = now + INTERVAL
            self._look()
        if now >= self._next_statistics:
            interval = self._settings.statistics_interval
            self._next_statistics = max(self._next_statistics + interval, now)
            if self._settings.stats_cb is not None:
                callback, text = self._settings.stats_cb, self._statistics()
                self._pending.append(lambda: callback(text))
        served = 0
        while self._pending:
            served += 1
            self._pending.popleft()()
        return served

    def _look(self) -> None:
        """Compare the connections with what was reported last."""
        statuses = list(self._connections())
        for status in statuses:
            self._look_at_failure(status)
            self._look_at_throttling(status)
        down = bool(statuses) and all(
            status.state != "connected" and status.last_error for status in statuses
        )
        if down and not self._all_down:
            reason = f"{len(statuses)}/{len(statuses)} brokers are down"
            self.add_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, reason))
        self._all_down = down

    def _look_at_failure(self, status: ottla.ConnectionStatus) -> None:
        key = _key(status)
        if status.state == "connected":
            self._failed.pop(key, None)
        elif status.last_error and self._failed.get(key) != status.last_error:
            self._failed[key] = status.last_error
            error = _failure(status)
            self.add_error(error)
            self._log(logging.ERROR, "FAIL", error.str())

    def _look_at_throttling(self, status: ottla.ConnectionStatus) -> None:
        key, seconds = _key(status), status.throttled_for
        if not seconds:
            self._throttled.discard(key)
        elif key not in self._throttled and self._settings.throttle_cb is not None:
            self._throttled.add(key)
            callback = self._settings.throttle_cb
            event = ThrottleEvent(status.address, status.broker, seconds)
            self._pending.append(lambda: callback(event))

    def _log(self, level: int, facility: str, text: str) -> None:
        logger: Any = self._settings.logger
        if logger is not None:
            arguments = (facility, self.name, text)
            self._pending.append(lambda: logger.log(level, "%s [%s] %s", *arguments))
