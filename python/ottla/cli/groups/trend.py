"""How the lag of a group changes between two measurements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ottla.admin import PartitionLag

Offsets: TypeAlias = dict[tuple[str, int], tuple[int, int]]
"""The committed and the end offset of partitions."""


@dataclass(frozen=True)
class Trend:
    """How the lag of a partition changes.

    Attributes:
        read: the offsets per second by which the committed offset grows.
        written: the offsets per second by which the end offset grows.
        seconds_to_clear: the seconds until the lag is zero at these rates; None if it never is.
    """

    read: float
    written: float
    seconds_to_clear: float | None


def offsets_of(lags: Iterable[PartitionLag]) -> Offsets:
    """Return the offsets of the partitions whose committed and end offsets are known."""
    return {
        (lag.topic, lag.partition): (lag.committed, lag.end)
        for lag in lags
        if lag.committed is not None and lag.end is not None
    }


def trends_of(before: Offsets, after: Offsets, seconds: float) -> dict[tuple[str, int], Trend]:
    """Return the trends of the partitions that both measurements have."""
    trends = {}
    for topic_partition, (committed, end) in after.items():
        if topic_partition in before:
            committed_before, end_before = before[topic_partition]
            read = (committed - committed_before) / seconds
            written = (end - end_before) / seconds
            lag = max(0, end - committed)
            trends[topic_partition] = Trend(read, written, _seconds_to_clear(lag, read, written))
    return trends


def total_trend(trends: Iterable[Trend], lag: int) -> Trend | None:
    """Return the trend of a group, or None if no partition has a trend.

    Args:
        trends: the trends of its partitions. If an offset was set back, nothing counts as read.
        lag: the lag of the group.
    """
    known = list(trends)
    if not known:
        return None
    read = sum(max(0.0, each.read) for each in known)
    written = sum(max(0.0, each.written) for each in known)
    return Trend(read, written, _seconds_to_clear(lag, read, written))


def _seconds_to_clear(lag: int, read: float, written: float) -> float | None:
    return 0.0 if lag == 0 else lag / (read - written) if read > written else None
