"""The lag of groups, looked up every few seconds, and its trend.

Invariant: a group whose lag cannot be looked up has an error, and changes nothing for the others.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ottla import AsyncAdmin, AsyncClient
from ottla._internal.text import duration
from ottla._measurements.lag_trend import GroupTrend, Trend, offsets_of
from ottla.admin import PartitionLag
from ottla.cli.groups.lag import cleared_in, rate_text, summary_of, trend_text
from ottla.cli.output import plain
from ottla.cli.tables import Table
from ottla.cli.units import elapsed
from ottla.cli.watch.poller import Outcome, Poller

# The shortest time between two look-ups of a group, in seconds.
_INTERVAL = 3.0
# The timeout of a look-up, in seconds.
_TIMEOUT = 10.0
_HEADER = ["group", "partitions", "lag", "behind", "read/s", "written/s", "cleared in"]


@dataclass(frozen=True)
class MeasuredLag:
    """The lag of a group and its trend.

    Attributes:
        partitions: the lag of each partition.
        trend: the trend of their sum; None if there are no partitions.
    """

    partitions: Sequence[PartitionLag]
    trend: Trend | None

    @property
    def lag(self) -> int:
        """The sum of the lags."""
        return sum(each.lag or 0 for each in self.partitions)

    @property
    def error(self) -> str | None:
        """The reason why the lag of a partition is unknown; None if all are known."""
        return next((each.error for each in self.partitions if each.error is not None), None)

    @property
    def lag_ms(self) -> int:
        """The age of the oldest unread record in ms; 0 if there is none or its age is unknown."""
        return max((each.lag_ms or 0 for each in self.partitions), default=0)


class WatchedGroup:
    """A group whose lag is looked up periodically.

    Args:
        admin: the admin that looks it up.
        group: the id of the group.
        interval: the seconds between two look-ups.
    """

    def __init__(self, admin: AsyncAdmin, group: str, interval: float) -> None:
        self.id = group
        self._admin = admin
        self._trend = GroupTrend()
        self._printed = 0
        self.poller = Poller(interval, self._look_up)

    @property
    def outcome(self) -> Outcome[MeasuredLag]:
        """The newest lag, or the error of the look-up."""
        return self.poller.outcome

    def is_new(self) -> bool:
        """Return whether a look-up has ended since the last call."""
        before, self._printed = self._printed, self.outcome.calls
        return before != self._printed

    async def _look_up(self) -> MeasuredLag:
        lags = await self._admin.group_lag(self.id, timeout=_TIMEOUT)
        self._trend.observe(time.monotonic(), offsets_of(lags))
        return MeasuredLag(lags, self._trend.total())

    def to_json(self) -> dict[str, Any]:
        """Return the newest lag as plain values."""
        outcome = self.outcome
        # An older lag has already been printed.
        found = None if outcome.error else outcome.value
        return {
            "group_id": self.id,
            "lag": found and found.lag,
            "lag_ms": found and found.lag_ms,
            "partition_count": found and len(found.partitions),
            "trend": found and plain(found.trend),
            "error": (found and found.error) if outcome.error is None else str(outcome.error),
        }

    def line(self) -> str:
        """Return the newest lag as a line."""
        outcome = self.outcome
        if outcome.error is not None or outcome.value is None:
            return f"{self.id}: {outcome.error or 'looking up its lag'}"
        summary = f"{self.id}: {summary_of(outcome.value.partitions)}"
        trend = outcome.value.trend
        return summary if trend is None else f"{summary}; {trend_text(trend)}"

    def cells(self) -> list[str]:
        """Return the newest lag as cells of a table, even if a later look-up has failed."""
        outcome = self.outcome
        found = outcome.value
        if found is None:
            return [self.id, "", "unknown" if outcome.error else "looking up", "", "", "", ""]
        trend = found.trend
        rates = ["", "", ""]
        if trend is not None:
            rates = [rate_text(trend.read), rate_text(trend.written), cleared_in(trend)]
        behind = duration(found.lag_ms / 1000) if found.lag_ms else ""
        return [
            self.id,
            str(len(found.partitions)),
            f"{'' if found.error is None else 'at least '}{found.lag}",
            behind,
            *rates,
        ]

    def problem(self) -> str | None:
        """Return the reason why the last look-up failed, or None."""
        outcome = self.outcome
        if outcome.error is None:
            unknown = outcome.value and outcome.value.error
            return f"{self.id}: {unknown}" if unknown else None
        if outcome.value is None:
            return f"{self.id}: {outcome.error}"
        age = elapsed(time.monotonic() - outcome.since)
        return f"{self.id}: {outcome.error}; its numbers are {age} old"


def watch_groups(client: AsyncClient, groups: Sequence[str], interval: float) -> list[WatchedGroup]:
    """Start looking up the lag of groups."""
    admin = AsyncAdmin(client)
    return [WatchedGroup(admin, group, max(interval, _INTERVAL)) for group in groups]


def lag_table(groups: Sequence[WatchedGroup]) -> Table:
    """Return a row for each group, and below them the failures."""
    problems = [each for each in (group.problem() for group in groups) if each is not None]
    return Table("lag", _HEADER, [group.cells() for group in groups], problems, bad=True)
