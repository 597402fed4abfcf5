"""Samples of a client as plain values, which become JSON.

Invariant: numbers that JSON cannot represent are null.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from ottla import ConnectionStatus, Event, RequestStatistics


def connection(status: ConnectionStatus) -> dict[str, Any]:
    """Return the state of a connection."""
    return {
        "broker": status.broker,
        "role": status.role,
        "address": status.address,
        "state": status.state,
        "phase": status.phase,
        "phases": status.phases,
        "connected_for": status.connected_for,
        "api_versions": status.api_versions,
        "in_flight": status.in_flight,
        "round_trip_time": status.round_trip_time,
        "throttled_for": status.throttled_for,
        "last_error": status.last_error,
    }


def event(event: Event) -> dict[str, Any]:
    """Return an event, with the time at which it was received."""
    return {
        "time": time.time(),
        "kind": event.kind,
        "message": event.message,
        "broker": event.broker,
        "topic": event.topic,
        "partition": event.partition,
        "before": event.before,
        "after": event.after,
    }


def finite(values: Mapping[str, float]) -> dict[str, float | None]:
    """Return metrics. A metric that was not measured yet is None."""
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def requests(statistics: RequestStatistics) -> dict[str, Any]:
    """Return the statistics of requests."""
    return {
        "by_api": {
            api: {
                "total": each.total,
                "failed": each.failed,
                "latency_avg": each.latency_avg,
                "last_sent": each.last_sent,
            }
            for api, each in statistics.by_api.items()
        },
        "slowest": [
            {"api": each.api, "address": each.address, "latency": each.latency, "age": each.age}
            for each in statistics.slowest
        ],
        "retries": statistics.retries,
    }
