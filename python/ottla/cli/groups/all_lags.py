"""The lag of all groups: the sum over the partitions of each, from three kinds of requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ottla import Admin
from ottla._internal.text import counted
from ottla.admin.offsets import IsolationLevel
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
        lag: the sum of their lags.
        error: the reason why the lag is unknown.
    """

    group_id: str
    state: str | None
    partition_count: int
    lag: int | None
    error: str | None = None


def all_lags(
    client: Admin, isolation_level: IsolationLevel, *, timeout: float | None = None
) -> list[GroupLag]:
    """Return the lag of each consumer group.

    Args:
        client: the client.
        isolation_level: whether records of open transactions count.
        timeout: the seconds for each kind of request. Default: ``default.api.timeout.ms``.
    """
    states = {each.group_id: each.state for each in client.list_groups(timeout=timeout)}
    committed = client.list_group_offsets(states, errors="return", timeout=timeout)
    topic_partitions = {
        topic_partition
        for offsets in committed.values()
        if not isinstance(offsets, KafkaError)
        for topic_partition in offsets
    }
    ends = client.list_offsets(
        dict.fromkeys(sorted(topic_partitions), "latest"),
        isolation_level=isolation_level,
        errors="return",
        timeout=timeout,
    )
    lags = []
    for group, offsets in committed.items():
        if isinstance(offsets, KafkaError):
            lags.append(GroupLag(group, states[group], 0, None, str(offsets)))
            continue
        lag = 0
        for topic_partition, offset in offsets.items():
            end = ends[topic_partition]
            # A topic that was deleted has no lag.
            if not isinstance(end, KafkaError):
                lag += max(0, (end.offset or 0) - offset.offset)
        lags.append(GroupLag(group, states[group], len(offsets), lag))
    return sorted(lags, key=lambda each: (-(each.lag or 0), each.group_id))


def summary(lags: Sequence[GroupLag]) -> Table:
    """Return a line for each group, the largest lag first."""
    rows = [
        [
            each.group_id,
            text(each.state),
            str(each.partition_count),
            each.error or text(each.lag),
        ]
        for each in lags
    ]
    total = sum(each.lag or 0 for each in lags)
    lines = [f"{counted(len(lags), 'group')}, lag {total}"]
    return Table("", ["group", "state", "partitions", "lag"], rows, lines)
