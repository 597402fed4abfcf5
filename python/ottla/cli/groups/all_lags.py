"""The lag of all groups: the sum over the partitions of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ottla import Admin
from ottla._internal.text import counted
from ottla._measurements.group_offsets import all_group_offsets
from ottla.admin.lag import is_deleted
from ottla.admin.offsets import IsolationLevel
from ottla.admin.tables import PartialList
from ottla.cli.messages import say_error
from ottla.cli.partial import print_errors
from ottla.cli.resources import text
from ottla.cli.tables import Table
from ottla.errors import KafkaError


@dataclass(frozen=True)
class GroupLag:
    """How far a group is behind.

    Attributes:
        group_id: its id.
        state: its state.
        partition_count: the number of partitions with a committed offset.
        lag: the sum of their lags; of those that are known, if there is an error.
        error: the reason why the lag, or a part of it, is unknown.
    """

    group_id: str
    state: str | None
    partition_count: int
    lag: int | None
    error: str | None = None


def all_lags(
    client: Admin, isolation_level: IsolationLevel, *, timeout: float | None = None
) -> PartialList[GroupLag]:
    """Return the lag of each consumer group, and the errors of what groups may be missing.

    Args:
        client: the client.
        isolation_level: whether records of open transactions count.
        timeout: the seconds for each kind of request. Default: ``default.api.timeout.ms``.
    """
    found = all_group_offsets(client, isolation_level=isolation_level, timeout=timeout)
    states = {each.group_id: each.state for each in found.listings}
    lags = []
    for group, offsets in found.committed.items():
        if isinstance(offsets, KafkaError):
            lags.append(GroupLag(group, states[group], 0, None, str(offsets)))
            continue
        lag, error = 0, None
        for topic_partition, offset in offsets.items():
            end = found.ends[topic_partition]
            if not isinstance(end, KafkaError):
                lag += max(0, (end.offset or 0) - offset)
            elif not is_deleted(end):
                error = str(end)
        lags.append(GroupLag(group, states[group], len(offsets), lag, error))
    lags.sort(key=lambda each: (-(each.lag or 0), each.group_id))
    return PartialList(lags, found.listings.errors)


def summary(lags: PartialList[GroupLag]) -> Table:
    """Return a line for each group, the largest lag first."""
    rows = [
        [
            each.group_id,
            text(each.state),
            str(each.partition_count),
            _lag(each),
        ]
        for each in lags
    ]
    total = sum(each.lag or 0 for each in lags)
    least = "at least " if any(each.error is not None for each in lags) or lags.errors else ""
    lines = [f"{least}{counted(len(lags), 'group')}, {least}lag {total}"]
    return Table("", ["group", "state", "partitions", "lag"], rows, lines)


def _lag(group: GroupLag) -> str:
    if group.lag is None:
        return "unknown"
    # What is known of it is of use, but must not look like all of it.
    return str(group.lag) if group.error is None else f"at least {group.lag}"


def print_unknown(lags: PartialList[GroupLag]) -> int:
    """Print why lags are unknown, once for each cause; return the exit code: 1 if one is."""
    code = print_errors(lags.errors)
    causes = Counter(each.error for each in lags if each.error is not None)
    for cause, count in causes.items():
        say_error(f"the lag of {counted(count, 'group')} is unknown: {cause}", name="UnknownLag")
    return 1 if causes else code
