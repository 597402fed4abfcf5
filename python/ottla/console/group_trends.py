"""The trends of the groups in view, which all pages share.

Invariant: a trend is computed from look-ups that follow each other: after a pause it begins anew.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

from ottla._measurements.lag_trend import GroupTrend, Trend, offsets_of
from ottla.admin import PartitionLag

# The largest number of groups whose trend is kept.
_MAX_GROUPS = 64
# The seconds without a look-up after which a group is forgotten.
_PAUSE = 30.0


class GroupTrends:
    """The trends of groups.

    Args:
        clock: returns the time in seconds, and never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._groups: OrderedDict[str, tuple[float, GroupTrend]] = OrderedDict()

    def observe(
        self, group: str, lags: Sequence[PartitionLag]
    ) -> tuple[Trend | None, dict[tuple[str, int], Trend]]:
        """Take the lags of a group; return its trend, and those of its partitions."""
        with self._lock:
            now = self._clock()
            seen, trend = self._groups.pop(group, (now, GroupTrend()))
            if now - seen > _PAUSE:
                trend = GroupTrend()
            trend.observe(now, offsets_of(lags))
            self._groups[group] = now, trend
            while len(self._groups) > _MAX_GROUPS:
                self._groups.popitem(last=False)
            return trend.total(), trend.trends()
