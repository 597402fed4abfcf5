"""``ottla groups lag``: the lag of groups in records and in time, and its trend.

Invariant: rates come from two measurements; without ``--for`` there is one, and no rate.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypedDict

from ottla import Admin
from ottla._internal.text import counted, duration
from ottla.admin import PartitionLag
from ottla.cli.groups.all_lags import all_lags, summary
from ottla.cli.groups.trend import Trend, offsets_of, trends_of
from ottla.cli.output import plain
from ottla.cli.parsing import DURATION_HELP, parse_duration
from ottla.cli.resources import Subcommands, add_subcommand, admin, show, text
from ottla.cli.tables import Table
from ottla.errors import ConfigError

Trends: TypeAlias = Mapping[tuple[str, int], Trend]


class LaggingPartition(TypedDict):
    """A partition of a group; the fields are those of ``PartitionLag``."""

    topic: str
    partition: int
    committed: int | None
    end: int
    lag: int | None
    lag_ms: int | None
    member_id: str | None
    client_id: str | None
    host: str | None


class MeasuredPartition(LaggingPartition, total=False):
    """A partition of a group.

    Attributes:
        topic: the topic.
        partition: the partition.
        committed: the committed offset; null if there is none.
        end: the offset after the last record.
        lag: the number of offsets between them; null if none is committed.
        lag_ms: the age of the next record in ms; null if it is unknown.
        member_id: the member that reads it.
        client_id: the client.id of that member.
        host: the address of that member.
        trend: with ``--for``, how the lag changes; null for a partition without a trend.
    """

    trend: Trend | None


class NamedGroupLag(TypedDict):
    """The lag of a named group.

    Attributes:
        group_id: its id.
        partitions: the partitions with a committed offset or a member.
    """

    group_id: str
    partitions: list[MeasuredPartition]


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "lag",
        run,
        "show how far groups are behind",
        details="Without GROUP, shows the total lag of each group. For named groups, shows each "
        "partition, with the age of the next record and the member that reads it.",
        has_json=True,
    )
    parser.add_argument("names", nargs="*", metavar="GROUP", help="the id of a group (all)")
    parser.add_argument(
        "--for",
        dest="measured",
        metavar="DURATION",
        help=f"measure how fast the lag changes, {DURATION_HELP}",
    )
    parser.add_argument(
        "--isolation-level",
        choices=["read_uncommitted", "read_committed"],
        default="read_uncommitted",
        help="whether to count records of open transactions (read_uncommitted)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Show lags; return the exit code."""
    if not arguments.names:
        if arguments.measured is not None:
            raise ConfigError("--for: name the groups to measure")
        with admin(arguments) as client:
            lags = all_lags(client, arguments.isolation_level)
        show(arguments, lags, [summary(lags)])
        return 0
    if arguments.measured is None:
        with admin(arguments) as client:
            found = _lags(client, arguments)
        _show(arguments, found, {})
        return 0
    pause = parse_duration(arguments.measured).total_seconds()
    with admin(arguments, f"the second measurement, {arguments.measured} later") as client:
        before = {name: offsets_of(lags) for name, lags in _lags(client, arguments).items()}
        started = time.monotonic()
        # Ctrl-C ends the wait.
        time.sleep(pause)
        found = _lags(client, arguments)
        seconds = time.monotonic() - started
    trends = {
        name: trends_of(before[name], offsets_of(lags), seconds) for name, lags in found.items()
    }
    _show(arguments, found, trends)
    return 0


def _lags(client: Admin, arguments: argparse.Namespace) -> dict[str, list[PartitionLag]]:
    return {
        name: client.group_lag(name, isolation_level=arguments.isolation_level)
        for name in arguments.names
    }


def _show(
    arguments: argparse.Namespace,
    found: Mapping[str, list[PartitionLag]],
    trends: Mapping[str, Trends],
) -> None:
    value: list[NamedGroupLag] = [
        {
            "group_id": name,
            "partitions": [_plain(lag, trends.get(name)) for lag in lags],
        }
        for name, lags in found.items()
    ]
    tables = [_table(name, lags, trends.get(name)) for name, lags in found.items()]
    show(arguments, value, tables)


def _plain(lag: PartitionLag, trends: Trends | None) -> MeasuredPartition:
    value: MeasuredPartition = plain(lag)
    if trends is not None:
        value["trend"] = trends.get((lag.topic, lag.partition))
    return value


def _table(group: str, lags: list[PartitionLag], trends: Trends | None) -> Table:
    rows = []
    for lag in lags:
        cells = [
            f"{lag.topic}-{lag.partition}",
            text(lag.committed),
            str(lag.end),
            text(lag.lag),
            "" if lag.lag_ms is None else duration(lag.lag_ms / 1000),
        ]
        if trends is None:
            cells.append(_owner(lag))
        else:
            # The table must fit into a terminal with 80 columns.
            cells += _rates(trends.get((lag.topic, lag.partition)))
        rows.append(cells)
    header = ["partition", "committed", "end", "lag", "behind"]
    header += ["member"] if trends is None else ["read/s", "written/s", "cleared in"]
    lines = [summary_of(lags)]
    without = sum(lag.lag is None for lag in lags)
    if without:
        lines.append(f"{counted(without, 'partition')} without a committed offset")
    return Table(group, header, rows, lines)


def summary_of(lags: Sequence[PartitionLag]) -> str:
    """Return the lag of a group in records, and the age of its oldest unread record."""
    total = sum(lag.lag or 0 for lag in lags)
    oldest = max((lag.lag_ms for lag in lags if lag.lag_ms is not None), default=0)
    age = f"; the oldest unread record is {duration(oldest / 1000)} old" if oldest else ""
    return f"lag {total} in {counted(len(lags), 'partition')}{age}"


def _rates(trend: Trend | None) -> list[str]:
    if trend is None:
        return ["", "", ""]
    clear = "never" if trend.seconds_to_clear is None else duration(trend.seconds_to_clear)
    return [f"{trend.read:.0f}", f"{trend.written:.0f}", clear]


def _owner(lag: PartitionLag) -> str:
    if lag.member_id is None:
        return ""
    return f"{lag.client_id} at {(lag.host or '').lstrip('/')}"
