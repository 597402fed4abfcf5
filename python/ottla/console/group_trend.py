"""How the lag of a group changes, from samples of its committed and end offsets.

A consumer commits every few seconds, and between two commits its lag only grows. So rates are
computed from commit to commit. Invariant: what is not known yet is never called growing.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["unknown", "keeping_up", "shrinking", "not_shrinking"]

_MAX_SAMPLES = 60
# The seconds that rates cover, and those without a commit after which nothing is read.
_WINDOW = 60.0
_PATIENCE = 30.0
# A lag of at most as many seconds of records is what lies between two commits.
_KEPT_UP = 10.0


@dataclass(frozen=True)
class Sample:
    """The sums over the partitions of a group.

    Attributes:
        time: seconds since 1970.
        committed: the sum of the committed offsets.
        end: the sum of the end offsets of the same partitions.
    """

    time: float
    committed: int
    end: int

    @property
    def lag(self) -> int:
        """The records between them."""
        return max(0, self.end - self.committed)


@dataclass(frozen=True)
class Trend:
    """How a lag changes.

    Attributes:
        state: what it does.
        read: records per second that are read; None if it is unknown.
        written: records per second that are written; None if it is unknown.
        seconds_to_clear: the seconds until the lag is zero at these rates; None if it never is.
    """

    state: State
    read: float | None = None
    written: float | None = None
    seconds_to_clear: float | None = None


def trend_of(samples: Sequence[Sample]) -> Trend:
    """Return the trend as of the last sample."""
    if len(samples) < 2:
        return Trend("unknown")
    last = samples[-1]
    recent = [each for each in samples if each.time >= last.time - _WINDOW]
    first = recent[0]
    seconds = last.time - first.time
    if seconds <= 0:
        return Trend("unknown")
    written = max(0.0, (last.end - first.end) / seconds)
    if last.lag == 0:
        return Trend("keeping_up", written, written, 0.0)
    commits = [
        after for before, after in itertools.pairwise(recent) if after.committed > before.committed
    ]
    if not commits or last.time - commits[-1].time > _PATIENCE:
        if seconds < _PATIENCE:
            return Trend("unknown", None, written)
        return Trend("not_shrinking", 0.0, written)
    begin, end = commits[0], commits[-1]
    if end.time <= begin.time:
        return Trend("unknown", None, written)
    interval = end.time - begin.time
    read = (end.committed - begin.committed) / interval
    written = max(0.0, (end.end - begin.end) / interval)
    if last.lag <= written * _KEPT_UP:
        return Trend("keeping_up", read, written, 0.0)
    if read > written:
        return Trend("shrinking", read, written, last.lag / (read - written))
    return Trend("not_shrinking", read, written)


def behind(samples: Sequence[Sample]) -> tuple[float, bool] | None:
    """Return the seconds since the next record to read was the newest one, or None.

    Returns:
        The seconds, and whether it is longer than that: the samples begin later.
    """
    if not samples:
        return None
    last = samples[-1]
    if last.lag == 0:
        return 0.0, False
    after = last
    for sample in reversed(samples):
        if sample.end <= last.committed:
            grown = after.end - sample.end
            part = (last.committed - sample.end) / grown if grown > 0 else 0.0
            return last.time - (sample.time + part * (after.time - sample.time)), False
        after = sample
    return (last.time - samples[0].time, True) if len(samples) > 1 else None


class GroupTrend:
    """The trends of one group's partitions, from samples of a few seconds."""

    def __init__(self) -> None:
        self._partitions: dict[tuple[str, int], deque[Sample]] = {}

    def observe(self, now: float, offsets: Mapping[tuple[str, int], tuple[int, int]]) -> None:
        """Take a sample of the committed and the end offset of each partition."""
        known, self._partitions = self._partitions, {}
        for place, (committed, end) in offsets.items():
            samples = known.get(place) or deque(maxlen=_MAX_SAMPLES)
            if samples and samples[-1].time >= now:
                self._partitions[place] = samples
                continue
            if samples and (committed < samples[-1].committed or end < samples[-1].end):
                samples.clear()
            samples.append(Sample(now, committed, end))
            self._partitions[place] = samples

    def trends(self) -> dict[tuple[str, int], Trend]:
        """Return the trend of each partition."""
        return {place: trend_of(samples) for place, samples in self._partitions.items()}

    def total(self) -> Trend | None:
        """Return the trend of the group, or None without partitions.

        The group is cleared when its last partition is.
        """
        trends = list(self.trends().values())
        if not trends:
            return None
        states = {each.state for each in trends}
        order: tuple[State, ...] = ("not_shrinking", "unknown", "shrinking", "keeping_up")
        state = next(each for each in order if each in states)
        seconds = None
        if state in ("shrinking", "keeping_up"):
            seconds = max(each.seconds_to_clear or 0.0 for each in trends)
        read = _sum([each.read for each in trends])
        return Trend(state, read, _sum([each.written for each in trends]), seconds)


def _sum(rates: Sequence[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) if len(known) == len(rates) else None
