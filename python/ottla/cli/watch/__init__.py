"""``ottla watch``: show brokers, leaders, connections, rates, lags and events as they change.

On a terminal the view is redrawn in place; otherwise each event is printed as a line. The metadata
is refreshed every ``--interval`` seconds, in addition to the client's own refreshes.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ottla import AsyncClient
from ottla._internal.text import is_encodable
from ottla.cli.options import add_cluster, add_json, configuration, servers_of
from ottla.cli.packages import require
from ottla.cli.parsing import seconds
from ottla.cli.signals import run_until_signal
from ottla.cli.waiting import report_waiting
from ottla.cli.watch.session import Watch


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "watch",
        help="show the cluster as it changes",
        description="Show brokers, leaders, connections, rates and events as they change, until "
        "Ctrl-C. If the output is not a terminal, print each event as a line.",
    )
    add_cluster(parser)
    parser.add_argument("-t", "--topic", action="append", help="this topic only; may be repeated")
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        type=_group,
        help="show the lag of this group every 3 seconds or --interval; may be repeated",
    )
    parser.add_argument(
        "--rates",
        action="store_true",
        help="print a line with the client's rates at each interval; a terminal shows them always",
    )
    parser.add_argument(
        "--interval", type=seconds(0.01), default=2.0, help="seconds between refreshes (2)"
    )
    parser.add_argument(
        "--for", dest="seconds", type=seconds(0), help="exit after this many seconds"
    )
    add_json(parser, "print each event as a line of JSON")
    parser.set_defaults(run=run)


def _group(text: str) -> str:
    # A group id that is not UTF-8 cannot be sent to a broker.
    if not text or not is_encodable(text):
        raise argparse.ArgumentTypeError(f"expected the id of a group, got {text!r}")
    return text


def run(arguments: argparse.Namespace) -> int:
    """Watch until Ctrl-C, or for the given time."""
    live = sys.stdout.isatty() and not arguments.json
    if live:
        require("the live view (unless --json is given)", "rich")
    run_until_signal(_watch(arguments, live=live))
    return 0


async def _watch(arguments: argparse.Namespace, *, live: bool) -> None:
    config = configuration(arguments)
    client = AsyncClient(config=config)
    try:
        if not live:
            with report_waiting(lambda: f"a response from {servers_of(config)}"):
                await client.connect()
        # The view shows how the client looks for the cluster.
        async with Watch(
            client, arguments.topic, arguments.group, arguments.interval, arguments.seconds
        ) as watch:
            if live:
                from ottla.cli.watch.view import draw

                await draw(watch)
            else:
                from ottla.cli.watch.lines import print_lines

                await print_lines(watch, as_json=arguments.json, with_rates=arguments.rates)
    finally:
        await client.close()
