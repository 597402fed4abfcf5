"""``ottla topics top``: the topics, partitions or brokers that are written most.

Invariant: no record is read; the rates are those of end offsets and of the sizes of logs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from ottla import Admin
from ottla._measurements.write_rates import Sample, write_rates
from ottla._measurements.write_samples import end_offsets, leader_sizes, log_dirs, replica_sizes
from ottla.cli.messages import say_error
from ottla.cli.options import connect, style
from ottla.cli.packages import require
from ottla.cli.parsing import DURATION_HELP, add_match, matching, parse_duration, seconds
from ottla.cli.resources import Subcommands, add_subcommand, admin, partition_name, show
from ottla.cli.tables import Table, as_text
from ottla.cli.topics.top_rows import table, top_document
from ottla.errors import ConfigError, KafkaError

_ONCE = "5s"
# The seconds that the rates of the live view cover.
_WINDOW = 10.0


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "top",
        run,
        "show what is written most: records and bytes a second",
        details="On a terminal, the view is redrawn until Ctrl-C; otherwise, and with --for or "
        "--json, it is measured once. Bytes are those of the leader's log, compressed as it is.",
        has_json=True,
    )
    parser.add_argument("names", nargs="*", metavar="TOPIC", help="the name of a topic (all)")
    add_match(parser, "topics")
    parser.add_argument("--internal", action="store_true", help="also Kafka's internal topics")
    parser.add_argument(
        "--by", choices=["topic", "partition", "broker"], default="topic", help="the rows (topic)"
    )
    parser.add_argument(
        "--sort",
        choices=["records", "bytes", "name"],
        default="records",
        help="the order (records)",
    )
    parser.add_argument("--limit", type=_limit, metavar="N", help="the first N rows only (all)")
    parser.add_argument(
        "--for",
        dest="measured",
        metavar="DURATION",
        help=f"measure once, for so long, {DURATION_HELP} ({_ONCE} if there is no live view)",
    )
    parser.add_argument(
        "--interval", type=seconds(0.1), default=2.0, help="seconds between redrawings (2)"
    )


def _limit(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number of rows, 1 or more, got {text!r}")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Show the rates; return the exit code, 1 if something could not be asked."""
    is_match = matching(arguments)
    if sys.stdout.isatty() and not arguments.json and arguments.measured is None:
        require("the live view (unless --for is given)", "rich")
        return _show_live(arguments, is_match)
    duration = arguments.measured or _ONCE
    pause = parse_duration(duration).total_seconds()
    if pause <= 0:
        raise ConfigError("--for: two measurements need time between them")
    with admin(arguments, f"the end of the measurement of {duration}") as client:
        before = _sample(client, arguments, is_match)
        # Ctrl-C ends the wait.
        time.sleep(pause)
        after = _sample(client, arguments, is_match)
    rates = write_rates(before, after)
    show(arguments, top_document(arguments, before, after, rates), [table(arguments, rates)])
    # A broker that did not respond twice is named once, though its errors differ in milliseconds.
    problems = {each.partition(": ")[0]: each for each in [*before.problems, *after.problems]}
    for problem in problems.values():
        say_error(problem)
    return 1 if problems else 0


def _sample(
    client: Admin, arguments: argparse.Namespace, is_match: Callable[[str], bool]
) -> Sample:
    names: Iterable[str] = arguments.names
    if not arguments.names:
        names = [each.name for each in client.list_topics(internal=arguments.internal)]
    described = client.describe_topics([name for name in names if is_match(name)])
    leaders = {
        (name, each.partition): each.leader
        for name, topic in described.items()
        for each in topic.partitions
    }
    problems = [
        f"{partition_name(each)} has no leader: its rates are unknown"
        for each, leader in leaders.items()
        if leader is None
    ]
    led = {each: leader for each, leader in leaders.items() if leader is not None}
    ends, failed = end_offsets(client, led)
    ends_time = time.monotonic()
    problems += [f"{partition_name(each)}: {error}" for each, error in failed.items()]
    directories, unknown = log_dirs(client, led.values())
    sizes_time = time.monotonic()
    problems += [
        f"the sizes on broker {broker} are unknown: {error}" for broker, error in unknown.items()
    ]
    sizes = leader_sizes(replica_sizes(directories), led)
    return Sample(leaders, ends, ends_time, sizes, sizes_time, tuple(problems))


def _show_live(arguments: argparse.Namespace, is_match: Callable[[str], bool]) -> int:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from ottla.cli.watch.warning_lines import WarningLines

    console = Console(highlight=False)
    with connect(arguments) as client:
        cluster = Admin(client)
        # An error now, such as that of a topic that does not exist, ends the command.
        samples = deque([_sample(cluster, arguments, is_match)])
        problems: Sequence[str] = samples[0].problems
        limit = arguments.limit
        with (
            WarningLines() as warnings,
            Live(console=console, screen=True, auto_refresh=False) as live,
        ):

            def draw(rates: Table | None) -> None:
                lines = [*problems, *warnings.take()][:3] or ["Ctrl-C to exit"]
                shown = [rates] if rates else [Table("", [], [], ["measuring"])]
                shown.append(Table("", [], [], lines, bad=bool(problems)))
                live.update(Text.from_ansi(as_text(shown, style()), no_wrap=True), refresh=True)

            draw(None)
            while True:
                time.sleep(arguments.interval)
                try:
                    samples.append(_sample(cluster, arguments, is_match))
                    problems = samples[-1].problems
                except KafkaError as error:
                    problems = [str(error)]
                while len(samples) > 2 and samples[1].ends_time <= samples[-1].ends_time - _WINDOW:
                    samples.popleft()
                # The header, three lines below the rows, and an empty line with three more.
                room = max(3, console.height - 8)
                arguments.limit = room if limit is None else min(limit, room)
                if len(samples) > 1:
                    draw(table(arguments, write_rates(samples[0], samples[-1])))
                else:
                    draw(None)
