"""The groups as the Groups page lists them: lag in records and time, its trend, and members.

Samples are taken while pages show them, by one request of each kind for all groups. Invariants: at
most some 100,000 samples are kept, and 300 groups are in a response, whatever the number of groups;
what could not be asked is reported, and hides nothing of the rest.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ottla import Admin
from ottla._measurements.group_offsets import all_group_offsets
from ottla._measurements.lag_trend import PartitionTrend, Trend
from ottla.admin import GroupListing
from ottla.admin.destinations import TopicPartition
from ottla.console import workers as cadences
from ottla.console.group_samples import Sample, behind
from ottla.console.group_trends import GroupTrends
from ottla.console.workers import Workers
from ottla.errors import KafkaError

# The timeout of a call in seconds: waiting calls occupy the console's few threads.
TIMEOUT = 8.0
NO_LAG = frozenset({"Share", "Streams"})
"""The types of groups without committed offsets."""
# The seconds without a sample after which a trend begins anew; a large cluster has one a minute.
_PAUSE = 150.0
_MAX_SAMPLES, _MOST_OF_A_GROUP, _LEAST_OF_A_GROUP = 100_000, 720, 12
MAX_ROWS = 300
"""The largest number of groups in a response."""
# The errors of brokers in a response: those of one cause are alike.
_MAX_ERRORS = 5

Order = Literal["lag", "name", "behind", "members", "errors"]
_KEYS: Mapping[Order, Callable[[dict[str, Any]], Any]] = {
    # A lag that is unknown comes after those that are known.
    "lag": lambda row: -1 if row["lag"] is None else row["lag"],
    "name": lambda _: 0,
    "behind": lambda row: -1 if row["behind"] is None else row["behind"]["seconds"],
    "members": lambda row: -1 if row["members"] is None else row["members"],
    "errors": lambda row: row["error"] is not None,
}


@dataclass(frozen=True)
class Groups:
    """The groups that could be listed.

    Attributes:
        rows: the groups; the ``error`` of a row says why its lag is unknown.
        errors: the reasons why groups or members may be missing.
    """

    rows: Sequence[dict[str, Any]]
    errors: Sequence[str] = ()

    def page(self, start: int, count: int, search: str = "", order: Order = "lag") -> Any:
        """Return some of the groups as JSON.

        Args:
            start: the number of the first row.
            count: the number of rows.
            search: a part of the ids, in upper or lower case.
            order: the order of the rows: the largest first, or by name.
        """
        wanted, key = search.casefold(), _KEYS[order]
        found = [row for row in self.rows if wanted in row["group_id"].casefold()]
        found.sort(key=lambda row: row["group_id"])
        found.sort(key=key, reverse=True)
        failures = [row["error"] for row in self.rows if row["error"] is not None]
        return {
            "all": len(self.rows),
            "total": len(found),
            "failed": len(failures),
            "failure": failures[0] if failures else None,
            "errors": list(self.errors)[:_MAX_ERRORS],
            "start": start,
            "rows": found[start : start + min(count, MAX_ROWS)],
        }


class GroupSurvey:
    """The groups and their lag during the session.

    Args:
        admin: the client.
        workers: the threads.

    Attributes:
        trends: the trends of the groups whose own pages are open.
    """

    def __init__(self, admin: Admin, workers: Workers) -> None:
        self._admin = admin
        self._workers = workers
        self._samples: dict[str, deque[Sample]] = {}
        self._topics: dict[str, frozenset[str]] = {}
        self._members: Mapping[str, int] = {}
        # Of the sums over the partitions of each group.
        self._totals: dict[str, PartitionTrend] = {}
        self.trends = GroupTrends()

    async def groups(self) -> Groups:
        """Return all groups."""
        found = await self._workers.shared("groups", cadences.GROUPS, self._sample)
        names = [row["group_id"] for row in found.rows]
        errors = list(found.errors)
        try:
            self._members = await self._workers.shared(
                "members", cadences.GROUP_MEMBERS, self._count_members, names
            )
        except KafkaError as error:
            self._members = {}
            errors.append(f"members are unknown: {error}")
        rows = [{**row, "members": self._members.get(row["group_id"])} for row in found.rows]
        return Groups(rows, errors)

    def topics_of(self, group: str) -> frozenset[str]:
        """Return the topics of which a group has committed offsets, as of the newest rows."""
        return self._topics.get(group, frozenset())

    def history(self, group: str) -> list[tuple[float, int]]:
        """Return the times and lags of a group's samples, the oldest first."""
        return [(each.time, each.lag) for each in list(self._samples.get(group, ()))]

    def _sample(self) -> Groups:
        found = all_group_offsets(self._admin, without_types=NO_LAG, timeout=TIMEOUT)
        listings = {each.group_id: each for each in found.listings}
        # A topic that was deleted has no lag.
        ends = {
            place: end.offset or 0
            for place, end in found.ends.items()
            if not isinstance(end, KafkaError)
        }
        now = time.time()
        # A group is gone only if all brokers listed theirs.
        names = {*listings, *self._samples} if found.listings.errors else {*listings}
        kept = self._kept(len(names))
        self._samples = {name: deque(self._samples.get(name, ()), maxlen=kept) for name in names}
        self._totals = {name: each for name, each in self._totals.items() if name in names}
        rows = []
        for name, listing in listings.items():
            offsets = found.committed.get(name)
            error = None
            if isinstance(offsets, KafkaError):
                offsets, error = None, str(offsets)
            rows.append(self._row(listing, offsets, ends, now, error))
        return Groups(rows, list(dict.fromkeys(map(str, found.listings.errors))))

    def _row(
        self,
        listing: GroupListing,
        offsets: Mapping[TopicPartition, int] | None,
        ends: Mapping[TopicPartition, int],
        now: float,
        error: str | None,
    ) -> dict[str, Any]:
        name = listing.group_id
        row: dict[str, Any] = {
            "group_id": name,
            "type": listing.type,
            "state": listing.state,
            "coordinator": listing.coordinator,
            "partitions": None if offsets is None else len(offsets),
            "lag": None,
            "behind": None,
            "trend": None,
            "error": error,
        }
        if offsets is None:
            return row
        self._topics[name] = frozenset(topic for topic, _ in offsets)
        placed = {place: offset for place, offset in offsets.items() if place in ends}
        # Offsets beyond the end, of a topic that was re-created, are no lag.
        committed = sum(min(offset, ends[place]) for place, offset in placed.items())
        samples = self._samples[name]
        sample = Sample(now, committed, sum(ends[place] for place in placed))
        trend = self._trend(name, samples[-1].time if samples else None, sample)
        # Offsets that were set back begin another history.
        if samples and (sample.committed < samples[-1].committed or sample.end < samples[-1].end):
            samples.clear()
        samples.append(sample)
        late = behind(samples)
        return row | {
            "lag": sample.lag,
            "behind": None if late is None else {"seconds": late[0], "at_least": late[1]},
            "trend": asdict(trend),
        }

    def _trend(self, group: str, seen: float | None, sample: Sample) -> Trend:
        trend = self._totals.get(group)
        if trend is None or seen is None or sample.time - seen > _PAUSE:
            trend = PartitionTrend(sample.time, sample.committed, sample.end)
            self._totals[group] = trend
        elif sample.time > seen:
            trend.observe(sample.time, sample.committed, sample.end)
        return trend.trend()

    def _kept(self, groups: int) -> int:
        return min(_MOST_OF_A_GROUP, max(_LEAST_OF_A_GROUP, _MAX_SAMPLES // max(1, groups)))

    def _count_members(self, groups: list[str]) -> dict[str, int]:
        found = self._admin.describe_groups(groups, errors="return", timeout=TIMEOUT)
        return {
            name: len(each.members)
            for name, each in found.items()
            if not isinstance(each, KafkaError)
        }
