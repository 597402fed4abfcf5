"""The lines of ``ottla watch --json``, which ``lines.py`` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict

from ottla._measurements.lag_trend import Trend


class EventLine(TypedDict):
    """A change of the cluster, or of a connection to it.

    Attributes:
        time: when it was printed, in seconds since 1970.
        kind: the kind of change, such as ``leader_changed``.
        message: all of it, for people.
        broker: the broker that it is about.
        topic: the topic that it is about.
        partition: the partition that it is about.
        previous: the leader, or the number of partitions, before; null if it is unknown.
        current: the leader, or the number of partitions, now; null if there is none.
    """

    time: float
    kind: str
    message: str
    broker: int | None
    topic: str | None
    partition: int | None
    previous: int | None
    current: int | None


class LagLine(TypedDict):
    """The lag of a group.

    Attributes:
        time: when it was printed, in seconds since 1970.
        kind: the kind of line.
        group_id: the id of the group.
        lag: the sum of the lags of its partitions; null if it could not be looked up.
        lag_ms: the age of its oldest unread record in ms; 0 if there is none.
        partition_count: the number of its partitions.
        trend: how the lag changes; null at first.
        error: why it could not be looked up.
    """

    time: float
    kind: Literal["lag"]
    group_id: str
    lag: int | None
    lag_ms: int | None
    partition_count: int | None
    trend: Trend | None
    error: str | None


class SlowestRequest(TypedDict):
    """The slowest request of the last ten minutes.

    Attributes:
        api: its API.
        address: where it was sent.
        latency: its latency in seconds.
        age: the seconds since its response.
    """

    api: str
    address: str
    latency: float
    age: float


class RatesLine(TypedDict):
    """The rates of the command's own client.

    Attributes:
        time: when it was printed, in seconds since 1970.
        kind: the kind of line.
        request_rate: requests per second.
        outgoing_byte_rate: bytes sent per second.
        incoming_byte_rate: bytes received per second.
        latency_avg: the average latency of requests in seconds.
        latency_max: the largest latency in seconds.
        slowest: the slowest request.
        retries: the number of retries by cause.
    """

    time: float
    kind: Literal["rates"]
    request_rate: float | None
    outgoing_byte_rate: float | None
    incoming_byte_rate: float | None
    latency_avg: float | None
    latency_max: float | None
    slowest: SlowestRequest | None
    retries: Mapping[str, int]
