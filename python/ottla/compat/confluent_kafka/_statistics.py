"""The parts of librdkafka's statistics that producers and consumers share.

Only what dashboards and frameworks read is filled in; the rest of librdkafka's fields is zero or
left out. Invariant: numbers are never guessed: what ottla does not know is -1 or absent.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import ottla
from ottla.compat.confluent_kafka._settings import Settings

# Window statistics as librdkafka writes them, in microseconds.
_WINDOW = ("min", "max", "avg", "sum", "stddev", "p50", "p75", "p90", "p95", "p99", "p99_99")

_STATES = {
    "connected": "UP",
    "connecting": "CONNECT",
    "backing_off": "TRY_CONNECT",
    "disconnected": "DOWN",
}


def window(average: float | None) -> dict[str, int]:
    """Return a window of which only the average is known, in seconds."""
    micros = int((average or 0.0) * 1e6)
    known = {"avg": micros, "min": micros, "max": micros}
    return {**dict.fromkeys(_WINDOW, 0), **known, "outofrange": 0, "hdrsize": 0, "cnt": 0}


def _broker(status: ottla.ConnectionStatus) -> dict[str, Any]:
    name = f"{status.address}/{'bootstrap' if status.broker < 0 else status.broker}"
    age = status.connected_for
    return {
        "name": name,
        "nodeid": status.broker,
        "nodename": status.address,
        "source": "configured" if status.broker < 0 else "learned",
        "state": _STATES[status.state],
        "stateage": 0 if age is None else int(age * 1e6),
        "outbuf_cnt": 0,
        "outbuf_msg_cnt": 0,
        "waitresp_cnt": status.in_flight,
        "waitresp_msg_cnt": 0,
        "connects": int(age is not None),
        "disconnects": 0,
        "rtt": window(status.round_trip_time),
        "throttle": window(status.throttled_for),
        "toppars": {},
    }


def broker_statistics(
    settings: Settings, statuses: Iterable[ottla.ConnectionStatus]
) -> dict[str, Any]:
    """Return the brokers by name, from the state of the connections."""
    if not settings.has_brokers:
        return {}
    brokers = [_broker(status) for status in statuses]
    return {broker["name"]: broker for broker in brokers}


def client_statistics(
    settings: Settings, name: str, started: float, metrics: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields about the client itself.

    Args:
        settings: the client's settings.
        name: the client's name in this process.
        started: ``time.monotonic()`` when it was made.
        metrics: ottla's metrics of the client.
    """

    def total(key: str) -> int:
        return int(metrics.get(key) or 0)

    now = time.monotonic()
    return {
        "name": name,
        "client_id": settings.client_id,
        "type": settings.kind.split()[-1],
        "ts": int(now * 1e6),
        "time": int(time.time()),
        "age": int((now - started) * 1e6),
        "replyq": 0,
        "msg_cnt": 0,
        "msg_size": 0,
        "msg_max": 0,
        "msg_size_max": 0,
        "simple_cnt": 0,
        "metadata_cache_cnt": 0,
        "tx": total("request-total"),
        "tx_bytes": total("outgoing-byte-total"),
        "rx": total("response-total"),
        "rx_bytes": total("incoming-byte-total"),
        "txmsgs": total("record-send-total"),
        "txmsg_bytes": 0,
        "rxmsgs": total("records-consumed-total"),
        "rxmsg_bytes": total("bytes-consumed-total"),
        "brokers": {},
        "topics": {},
    }
