"""``ottla groups lag``: the lag of groups in records and in time, and its trend.

Invariant: rates come from several measurements; without ``--for`` there is one, and no rate.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypedDict

from ottla import Admin
from ottla._internal.text import counted, duration
from ottla._measurements.lag_trend import GroupTrend, Offsets, Trend, offsets_of
from ottla.admin import PartitionLag
from ottla.cli.groups.all_lags import all_lags, print_unknown, summary
from ottla.cli.messages import say_error
from ottla.cli.output import plain
from ottla.cli.parsing import DURATION_HELP, parse_duration
from ottla.cli.partial import each_alone, print_errors
from ottla.cli.resources import Subcommands, add_subcommand, admin, show, text
from ottla.cli.suggestions import with_groups
from ottla.cli.tables import Table
from ottla.cli.units import number
from ottla.errors import ConfigError, KafkaError

FoundLags: TypeAlias = tuple[Mapping[str, list[PartitionLag]], list[KafkaError]]
"""The lags of groups, and the errors of the other groups."""

# The seconds between two measurements.
_STEP = 1.0
_TOO_SHORT = "measure for longer than the interval between two commits, such as --for 15s"


class LaggingPartition(TypedDict):
    """A partition of a group; the fields are those of ``PartitionLag``."""

    topic: str
    partition: int
    committed: int | None
    end: int | None
    lag: int | None
    lag_ms: int | None
    member_id: str | None
    client_id: str | None
    host: str | None
    error: str | None


class MeasuredPartition(LaggingPartition, total=False):
    """A partition of a group.

    Attributes:
        topic: the topic.
        partition: the partition.
        committed: the committed offset; null if there is none.
        end: the offset after the last record; null if it is unknown.
        lag: the number of offsets between them; null if none is committed.
        lag_ms: the age of the next record in ms; null if it is unknown.
        member_id: the member that reads it.
        client_id: the client.id of that member.
        host: the address of that member.
        error: why the end is unknown.
        trend: with ``--for``, how the lag changes; null for a partition without a trend.
    """

    trend: Trend | None


class _GroupPartitions(TypedDict):
    """The fields of every named group."""

    group_id: str
    partitions: list[MeasuredPartition]


class NamedGroupLag(_GroupPartitions, total=False):
    """The lag of a named group.

    Attributes:
        group_id: its id.
        partitions: the partitions with a committed offset or a member.
        trend: with ``--for``, how its lag changes; null if no partition has a trend.
    """

    trend: Trend | None


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
        help=f"measure how fast the lag changes: several commits long, {DURATION_HELP}",
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
        return print_unknown(lags)
    if arguments.measured is None:
        with admin(arguments) as client:
            found, errors = _lags(client, arguments)
        _show(arguments, found, {})
        return max(print_errors(errors), _unknown(found))
    pause = parse_duration(arguments.measured).total_seconds()
    with admin(arguments, f"the end of the measurement of {arguments.measured}") as client:
        trends, (found, errors) = _measure(client, arguments, pause)
    _show(arguments, found, trends)
    return max(print_errors(errors), _unknown(found))


def _measure(
    client: Admin, arguments: argparse.Namespace, pause: float
) -> tuple[dict[str, GroupTrend], FoundLags]:
    """Observe groups for some seconds; return their trends and their lags at the end."""
    found, errors = _lags(client, arguments)
    trends = {name: GroupTrend() for name in found}
    if not trends:
        return trends, (found, errors)

    def observe(all_offsets: Mapping[str, Offsets]) -> None:
        now = time.monotonic()
        for name, offsets in all_offsets.items():
            trends[name].observe(now, offsets)

    observe({name: offsets_of(lags) for name, lags in found.items()})
    ends = time.monotonic() + pause
    while (left := ends - time.monotonic()) > _STEP:
        # Ctrl-C ends the wait.
        time.sleep(min(_STEP, left))
        observe(_offsets(client, arguments, list(found)))
    time.sleep(max(0.0, ends - time.monotonic()))
    found, errors = _lags(client, arguments)
    found = {name: lags for name, lags in found.items() if name in trends}
    observe({name: offsets_of(lags) for name, lags in found.items()})
    return trends, (found, errors)


def _offsets(
    client: Admin, arguments: argparse.Namespace, groups: Sequence[str]
) -> dict[str, Offsets]:
    """Return the committed and the end offsets of groups, without ages and members."""
    listed = client.list_group_offsets(groups, errors="return")
    # What cannot be asked now may be known at the next look.
    committed = {
        name: offsets for name, offsets in listed.items() if not isinstance(offsets, KafkaError)
    }
    wanted = {each for offsets in committed.values() for each in offsets}
    ends = client.list_offsets(
        dict.fromkeys(sorted(wanted), "latest"),
        isolation_level=arguments.isolation_level,
        errors="return",
    )
    found: dict[str, Offsets] = {}
    for name, offsets in committed.items():
        known = {}
        for each, offset in offsets.items():
            end = ends[each]
            # A topic that was deleted has no lag.
            if not isinstance(end, KafkaError) and end.offset is not None:
                known[each] = (offset.offset, end.offset)
        found[name] = known
    return found


def _lags(client: Admin, arguments: argparse.Namespace) -> FoundLags:
    """Return the lags of groups, and the errors of the other groups."""
    found, failed = each_alone(
        arguments.names,
        lambda name: client.group_lag(name, isolation_level=arguments.isolation_level),
    )
    return found, with_groups(client, failed)


def _unknown(found: Mapping[str, list[PartitionLag]]) -> int:
    """Print why the lags of partitions are unknown; return the exit code: 1 if one is."""
    errors = [each.error for lags in found.values() for each in lags if each.error is not None]
    for error in errors:
        say_error(error)
    return 1 if errors else 0


def _show(
    arguments: argparse.Namespace,
    found: Mapping[str, list[PartitionLag]],
    trends: Mapping[str, GroupTrend],
) -> None:
    value = [_plain(name, lags, trends.get(name)) for name, lags in found.items()]
    tables = [_table(name, lags, trends.get(name)) for name, lags in found.items()]
    show(arguments, value, tables)


def _plain(group: str, lags: list[PartitionLag], trend: GroupTrend | None) -> NamedGroupLag:
    if trend is None:
        return {"group_id": group, "partitions": plain(lags)}
    trends = trend.trends()
    partitions = [
        plain(lag) | {"trend": plain(trends.get((lag.topic, lag.partition)))} for lag in lags
    ]
    return {"group_id": group, "partitions": partitions, "trend": plain(trend.total())}


def _table(group: str, lags: list[PartitionLag], trend: GroupTrend | None) -> Table:
    trends = None if trend is None else trend.trends()
    rows = []
    for lag in lags:
        cells = [
            f"{lag.topic}-{lag.partition}",
            text(lag.committed),
            text(lag.end),
            text(lag.lag) if lag.error is None else "unknown",
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
    total = None if trend is None else trend.total()
    lines = [summary_of(lags)]
    if total is not None:
        lines.append(trend_text(total))
    if total is not None and total.state == "unknown":
        lines.append(_TOO_SHORT)
    without = sum(lag.committed is None for lag in lags)
    if without:
        lines.append(f"{counted(without, 'partition')} without a committed offset")
    return Table(group, header, rows, lines)


def summary_of(lags: Sequence[PartitionLag]) -> str:
    """Return the lag of a group in records, and the age of its oldest unread record."""
    total = sum(lag.lag or 0 for lag in lags)
    oldest = max((lag.lag_ms for lag in lags if lag.lag_ms is not None), default=0)
    age = f"; the oldest unread record is {duration(oldest / 1000)} old" if oldest else ""
    unknown = sum(lag.error is not None for lag in lags)
    rest = f"; unknown in {counted(unknown, 'partition')}" if unknown else ""
    least = "at least " if unknown else ""
    return f"lag {least}{total} in {counted(len(lags), 'partition')}{rest}{age}"


def trend_text(trend: Trend) -> str:
    """Return the rates of a group, and what its lag does."""
    rates = [
        f"{number(rate)} {verb}"
        for rate, verb in ((trend.read, "read"), (trend.written, "written"))
        if rate is not None
    ]
    text = f"{' and '.join(rates)} per second: " if rates else ""
    match trend.state:
        case "keeping_up":
            return f"{text}the group keeps up"
        case "shrinking":
            return f"{text}cleared in {cleared_in(trend)}"
        case "not_shrinking":
            return f"{text}the lag is not shrinking"
        case _:
            return f"{text}whether the lag shrinks is not known yet"


def cleared_in(trend: Trend) -> str:
    """Return the text of a cell about when a lag is cleared."""
    match trend.state:
        case "keeping_up":
            return "keeps up"
        case "not_shrinking":
            return "never"
        case "shrinking" if trend.seconds_to_clear is not None:
            return duration(trend.seconds_to_clear)
        case _:
            return "not known yet"


def rate_text(rate: float | None) -> str:
    """Return the text of a cell; a rate that is not known yet is empty."""
    return "" if rate is None else number(rate)


def _rates(trend: Trend | None) -> list[str]:
    if trend is None:
        return ["", "", ""]
    return [rate_text(trend.read), rate_text(trend.written), cleared_in(trend)]


def _owner(lag: PartitionLag) -> str:
    if lag.member_id is None:
        return ""
    return f"{lag.client_id} at {(lag.host or '').lstrip('/')}"
