"""How the lag of a group changes: a state machine that is given offsets and their times.

A consumer commits every few seconds, and its lag grows from one commit to the next. Rates are
therefore computed over whole intervals: from one change of the committed offset to another, with
the end offsets at these moments. A change is seen at the first observation after it, so that the
end offset at the commit lies between those of two observations.

Invariants: no clock is read and nothing is requested; what is not known yet is never called a lag
that does not shrink, and a group that reads nothing is called that within ``MAX_PATIENCE`` seconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ottla.admin import PartitionLag

PATIENCE = 30.0
"""The seconds without a commit after which a lag counts as one that is not read."""
MAX_PATIENCE = 240.0
"""The same if the commits that were seen are further apart: at most this long."""
WINDOW = 60.0
"""The seconds that rates cover, or the last two intervals if they are longer."""
# Observations of the end offset are kept for this many seconds.
_KEPT = MAX_PATIENCE + WINDOW

TrendState: TypeAlias = Literal["unknown", "keeping_up", "shrinking", "not_shrinking"]
"""``keeping_up``: only records of the last seconds are unread, as between any two commits."""
Offsets: TypeAlias = Mapping[tuple[str, int], tuple[int, int]]
"""The committed and the end offset of partitions."""


@dataclass(frozen=True)
class Trend:
    """How a lag changes.

    Attributes:
        read: the offsets per second by which the committed offset grows; None if it is not known
            yet.
        written: the offsets per second by which the end offset grows; None if it is not known yet.
        seconds_to_clear: the seconds until the lag is zero at these rates, 0 if the group keeps up;
            None if it is not known yet or the lag does not shrink.
        state: what the lag does.
    """

    read: float | None
    written: float | None
    seconds_to_clear: float | None
    state: TrendState


def offsets_of(lags: Iterable[PartitionLag]) -> dict[tuple[str, int], tuple[int, int]]:
    """Return the offsets of the partitions whose committed and end offsets are known."""
    return {
        (lag.topic, lag.partition): (lag.committed, lag.end)
        for lag in lags
        if lag.committed is not None and lag.end is not None
    }


@dataclass(frozen=True)
class _Observation:
    time: float
    committed: int
    end: int


@dataclass(frozen=True)
class _Change:
    """A change of the committed offset between two observations.

    Attributes:
        time: the middle between the observations.
        committed: the offset after the change.
        low: the end offset of the observation before the change.
        high: the end offset of the observation after it.
        waited: the seconds in which there was something to read and no change.
    """

    time: float
    committed: int
    low: int
    high: int
    waited: float

    @property
    def end(self) -> float:
        return (self.low + self.high) / 2


class PartitionTrend:
    """The trend of a partition's lag.

    Args:
        now: the time of the first observation in seconds, by a clock that never goes back.
        committed: the committed offset.
        end: the end offset.
    """

    def __init__(self, now: float, committed: int, end: int) -> None:
        self._begin(_Observation(now, committed, end))

    def _begin(self, first: _Observation) -> None:
        self._first = self._last = first
        self._changes: deque[_Change] = deque()
        # The latest one that the committed offset has passed, and all that it has not.
        self._unread: deque[_Observation] = deque([first])
        # Those of the last WINDOW seconds.
        self._recent: deque[_Observation] = deque([first])
        self._waiting_since = first.time

    def observe(self, now: float, committed: int, end: int) -> None:
        """Take an observation, later than the one before."""
        last, seen = self._last, _Observation(now, committed, end)
        if committed < last.committed or end < last.end:
            # The offsets were set back, or the topic is another one of this name.
            self._begin(seen)
            return
        if committed > last.committed:
            middle = (last.time + now) / 2
            waited = now - self._waiting_since
            self._changes.append(_Change(middle, committed, last.end, end, waited))
            while len(self._changes) > 3 and self._changes[1].time < now - WINDOW:
                self._changes.popleft()
            self._waiting_since = now
        if committed >= end:
            self._waiting_since = now
        self._last = seen
        self._recent.append(seen)
        while self._recent[1].time < now - WINDOW:
            self._recent.popleft()
        self._unread.append(seen)
        while len(self._unread) > 1 and (
            self._unread[1].end <= committed or self._unread[1].time < now - _KEPT
        ):
            self._unread.popleft()

    @property
    def lag(self) -> int:
        """The offsets from the committed one to the end."""
        return max(0, self._last.end - self._last.committed)

    def trend(self) -> Trend:
        """Return the trend as of the last observation."""
        state = self._state()
        if state == "shrinking":
            read, written = self._rates_of_intervals()
            return Trend(read, written, self.lag / (read - written), state)
        return Trend(*self._rates(), 0.0 if state == "keeping_up" else None, state)

    def _patience(self) -> float:
        longest = max((each.waited for each in self._changes), default=0.0)
        return min(max(PATIENCE, 2 * longest), MAX_PATIENCE)

    def _rates(self) -> tuple[float | None, float | None]:
        now = self._last
        if len(self._changes) > 1 and now.time - self._changes[-1].time <= self._patience():
            return self._rates_of_intervals()
        since = self._recent[0]
        seconds = now.time - since.time
        if seconds <= 0:
            return None, None
        is_idle = self.lag == 0 and (now.committed, now.end) == (since.committed, since.end)
        is_known = is_idle or seconds > PATIENCE
        read = (now.committed - since.committed) / seconds if is_known else None
        return read, (now.end - since.end) / seconds

    def _rates_of_intervals(self) -> tuple[float, float]:
        first, last = self._changes[0], self._changes[-1]
        seconds = last.time - first.time
        return (last.committed - first.committed) / seconds, (last.end - first.end) / seconds

    def _state(self) -> TrendState:
        if self.lag == 0:
            return "keeping_up"
        patience = self._patience()
        if self._last.time - self._waiting_since > patience:
            return "not_shrinking"
        if self._is_falling_behind():
            return "not_shrinking"
        passed, *unread = self._unread
        if passed.end <= self._last.committed and self._last.time - unread[0].time <= patience:
            return "keeping_up"
        if len(self._changes) < 2:
            return "unknown"
        first, last = self._changes[0], self._changes[-1]
        if last.high - last.committed < first.low - first.committed:
            return "shrinking"
        if last.low - last.committed > first.high - first.committed:
            return "not_shrinking"
        # The lag at the commits is not known exactly enough.
        return "not_shrinking" if last.time - first.time >= WINDOW * 0.8 else "unknown"

    def _is_falling_behind(self) -> bool:
        """Return whether the least lag after a commit grows. A single pause does not change it."""
        if not self._changes:
            return False
        first, last = self._changes[0].time, self._changes[-1].time
        middle = (first + last) / 2
        before = [each for each in self._changes if each.time < middle]
        after = [each for each in self._changes if each.time >= middle]
        if last - first < WINDOW / 2 or min(len(before), len(after)) < 2:
            return False
        least = min(each.high - each.committed for each in before)
        return min(each.low - each.committed for each in after) > least


class GroupTrend:
    """The trends of a group's partitions, and of their sum."""

    def __init__(self) -> None:
        self._partitions: dict[tuple[str, int], PartitionTrend] = {}

    def observe(self, now: float, offsets: Offsets) -> None:
        """Take an observation of all partitions; those without offsets are forgotten.

        Args:
            now: the time in seconds, by a clock that never goes back.
            offsets: the offsets, as from ``offsets_of``.
        """
        known = self._partitions
        self._partitions = {}
        for topic_partition, (committed, end) in offsets.items():
            partition = known.get(topic_partition)
            if partition is None:
                partition = PartitionTrend(now, committed, end)
            else:
                partition.observe(now, committed, end)
            self._partitions[topic_partition] = partition

    def trends(self) -> dict[tuple[str, int], Trend]:
        """Return the trend of each partition."""
        return {key: partition.trend() for key, partition in self._partitions.items()}

    def total(self) -> Trend | None:
        """Return the trend of the group, or None if it has no partitions.

        The group is cleared when its last partition is. A rate that is not known for a partition
        is not known for the group.
        """
        trends = [*self.trends().values()]
        if not trends:
            return None
        states = {each.state for each in trends}
        order: tuple[TrendState, ...] = ("not_shrinking", "unknown", "shrinking", "keeping_up")
        state = next(each for each in order if each in states)
        seconds = None
        if state in ("shrinking", "keeping_up"):
            seconds = max(each.seconds_to_clear or 0.0 for each in trends)
        read, written = _sum(each.read for each in trends), _sum(each.written for each in trends)
        return Trend(read, written, seconds, state)


def _sum(rates: Iterable[float | None]) -> float | None:
    total = 0.0
    for rate in rates:
        if rate is None:
            return None
        total += rate
    return total
