"""``ottla groups lag``: the lag of groups in records and in time, and its trend.

Invariant: rates come from several measurements; without ``--for`` there is one, and no rate.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence

from ottla import Admin
from ottla._internal.text import counted, duration
from ottla.admin import PartitionLag
from ottla.cli.groups.all_lags import all_lags, summary
from ottla.cli.groups.trend import GroupTrend, Offsets, Trend, offsets_of
from ottla.cli.parsing import DURATION_HELP, parse_duration
from ottla.cli.resources import Subcommands, add_subcommand, admin, plain, show, text
from ottla.cli.tables import Table
from ottla.cli.units import number
from ottla.errors import ConfigError, KafkaError

# The seconds between two measurements.
_STEP = 1.0
_TOO_SHORT = (
    "what is not known yet takes a whole interval between two commits: measure longer, such as "
    "--for 15s"
)


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
        return 0
    if arguments.measured is None:
        with admin(arguments) as client:
            found = _lags(client, arguments)
        _show(arguments, found, {})
        return 0
    pause = parse_duration(arguments.measured).total_seconds()
    with admin(arguments, f"the end of the measurement of {arguments.measured}") as client:
        trends, found = _measure(client, arguments, pause)
    _show(arguments, found, trends)
    return 0


def _measure(
    client: Admin, arguments: argparse.Namespace, pause: float
) -> tuple[dict[str, GroupTrend], dict[str, list[PartitionLag]]]:
    """Observe groups for some seconds; return their trends and their lags at the end."""
    trends = {name: GroupTrend() for name in arguments.names}

    def observe(found: Mapping[str, Offsets]) -> None:
        now = time.monotonic()
        for name, offsets in found.items():
            trends[name].observe(now, offsets)

    # This also fails if a group does not exist.
    found = _lags(client, arguments)
    observe({name: offsets_of(lags) for name, lags in found.items()})
    ends = time.monotonic() + pause
    while (left := ends - time.monotonic()) > _STEP:
        # Ctrl-C ends the wait.
        time.sleep(min(_STEP, left))
        observe(_offsets(client, arguments))
    time.sleep(max(0.0, ends - time.monotonic()))
    found = _lags(client, arguments)
    observe({name: offsets_of(lags) for name, lags in found.items()})
    return trends, found


def _offsets(client: Admin, arguments: argparse.Namespace) -> dict[str, Offsets]:
    """Return the committed and the end offsets of groups, without ages and members."""
    committed = client.list_group_offsets(arguments.names)
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


def _lags(client: Admin, arguments: argparse.Namespace) -> dict[str, list[PartitionLag]]:
    return {
        name: client.group_lag(name, isolation_level=arguments.isolation_level)
        for name in arguments.names
    }


def _show(
    arguments: argparse.Namespace,
    found: Mapping[str, list[PartitionLag]],
    trends: Mapping[str, GroupTrend],
) -> None:
    value = [_plain(name, lags, trends.get(name)) for name, lags in found.items()]
    tables = [_table(name, lags, trends.get(name)) for name, lags in found.items()]
    show(arguments, value, tables)


def _plain(group: str, lags: list[PartitionLag], trend: GroupTrend | None) -> dict[str, object]:
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
    total = None if trend is None else trend.total()
    lines = [summary_of(lags) + trend_text(total)]
    if total is not None and total.state == "unknown":
        lines.append(_TOO_SHORT)
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


def trend_text(trend: Trend | None) -> str:
    """Return the trend of a group as the end of a sentence about its lag; empty without one."""
    if trend is None:
        return ""
    rates = [
        f"{number(rate)} {verb}"
        for rate, verb in ((trend.read, "read"), (trend.written, "written"))
        if rate is not None
    ]
    text = f"; {' and '.join(rates)} per second" if rates else ""
    match trend.state:
        case "keeping_up":
            return f"{text}: the group keeps up"
        case "shrinking":
            return f"{text}: cleared in {cleared_in(trend)}"
        case "not_shrinking":
            return f"{text}: the lag is not shrinking"
        case _:
            return f"{text}: whether it shrinks is not known yet"


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
