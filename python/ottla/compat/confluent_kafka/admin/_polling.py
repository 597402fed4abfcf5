"""What ``AdminClient.poll`` serves: ``error_cb``, ``throttle_cb``, ``stats_cb`` and logs.

Invariants: a client with callbacks connects at its first poll, on a thread of its calls; callbacks
run on the thread that polls.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from typing import Any

from ottla import errors
from ottla.admin.destinations import metadata
from ottla.admin.operation_call import Call
from ottla.compat.confluent_kafka._client_events import ClientEvents
from ottla.compat.confluent_kafka._settings import Settings
from ottla.compat.confluent_kafka._statistics import broker_statistics, client_statistics
from ottla.compat.confluent_kafka.admin._connection import Connections
from ottla.compat.confluent_kafka.admin._threads import CallThreads

# Seconds of an attempt to connect, after which a client that was dropped gives up.
_ATTEMPT = 1.0
# Seconds that a poll sleeps at a time, so that Ctrl-C and other threads' events end it.
_SLICE = 0.1


class _Connecting:
    """A job that connects; what fails is seen in the connections."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    deadline = float("inf")

    def run(self, ended: threading.Event) -> None:
        """Connect, until it succeeds or the client is no longer used."""
        del ended  # No call waits for this job.

        async def connect(call: Call) -> None:
            await metadata(call, [])

        while self._connections.is_used:
            try:
                self._connections.run("connecting", _ATTEMPT, connect)
            except errors.TimeoutError:
                continue
            except errors.KafkaError:
                return
            return

    def fail(self) -> None:
        """Do nothing: the client was closed."""


class Polling:
    """The polls of one client.

    Args:
        settings: the client's settings.
        connections: the client's connections.
        threads: the client's threads.
    """

    def __init__(self, settings: Settings, connections: Connections, threads: CallThreads) -> None:
        self._settings = settings
        self._connections = connections
        self._threads = threads
        self._started = time.monotonic()
        self._connects = False
        self._events = ClientEvents(settings, connections.statuses, self._statistics)

    def poll(self, timeout: float) -> int:
        """Serve callbacks, and wait for some if there are none; return their number."""
        if self._settings.watches_connections and not self._connects:
            self._connects = True
            self._threads.submit(_Connecting(self._connections), "other")
        deadline = time.monotonic() + timeout
        while True:
            served = self._events.serve()
            left = deadline - time.monotonic()
            if served or left <= 0:
                return served
            time.sleep(self._events.wait_at_most(min(left, _SLICE)))

    def _statistics(self) -> str:
        client = self._connections.client()
        metrics: Mapping[str, Any] = client.metrics() if client else {}
        found = client_statistics(self._settings, self._events.name, self._started, metrics)
        # librdkafka's administrators are producers.
        found["type"] = "producer"
        found["brokers"] = broker_statistics(self._settings, self._connections.statuses())
        return json.dumps(found)
