"""``ottla watch``: the cluster as it changes: brokers, leaders, connections, and what happened.

On a terminal the picture is redrawn; elsewhere each event is a line. The metadata is asked for
again every ``--interval`` seconds, besides what the client notices by itself.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Any

from ottla import Client, Event
from ottla.cli.options import add_cluster, connect
from ottla.cli.tables import Table, console, need_rich, render
from ottla.cli.topology import Overview, overview, tables
from ottla.doctor.tree import clean
from ottla.errors import KafkaError

# Events that the picture shows.
_EVENTS = 15
# How long the picture may lag behind an event.
_REDRAW = 0.25


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "watch",
        help="show the cluster as it changes",
        description="Show brokers, leaders, connections and events as they change, until Ctrl-C. "
        "Where the output is no terminal, print each event as a line.",
    )
    add_cluster(parser)
    parser.add_argument("-t", "--topic", action="append", help="this topic only; may be repeated")
    parser.add_argument("--interval", type=float, default=2.0, help="seconds between looks (2)")
    parser.add_argument("--for", dest="seconds", type=float, help="end after so many seconds")
    parser.add_argument("--json", action="store_true", help="print each event as a line of JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Watch until Ctrl-C, or until the time is over."""
    drawn = sys.stdout.isatty() and not arguments.json
    if drawn:
        need_rich()
    with connect(arguments) as client:
        watch = Watch(client, arguments.topic, arguments.interval, arguments.seconds)
        if drawn:
            _draw(watch)
        else:
            show = _as_json if arguments.json else _as_line
            watch.run(lambda event: print(show(event), flush=True))
    return 0


class Watch:
    """A client that looks at its cluster again and again, and the last that it saw."""

    def __init__(
        self, client: Client, topics: list[str] | None, interval: float, seconds: float | None
    ) -> None:
        self.client = client
        self.trouble: str | None = None
        self._names = topics
        self._interval = max(interval, 0.1)
        self._until = None if seconds is None else time.monotonic() + seconds
        # Topics are watched from the first look on; what changes after it is an event.
        self.seen = self._look()
        self._events = client.events(all_topics=topics is None)

    def run(
        self, on_event: Callable[[Event], None], on_turn: Callable[[], None] = lambda: None
    ) -> None:
        """Hand each event over as it comes, and call ``on_turn`` at least every quarter second."""
        due = time.monotonic() + self._interval
        while self._until is None or time.monotonic() < self._until:
            event = self._events.next(timeout=min(_REDRAW, max(0.0, due - time.monotonic())))
            if event is not None:
                on_event(event)
            if time.monotonic() >= due:
                self.look()
                due = time.monotonic() + self._interval
            on_turn()

    def look(self) -> None:
        """Ask for the metadata again; a cluster that cannot be asked is no reason to end."""
        try:
            self.seen = self._look()
            self.trouble = None
        except KafkaError as error:
            self.trouble = str(error)

    def _look(self) -> Overview:
        timeout = max(self._interval, 5.0)
        names = self._names or self.client.list_topics(timeout=timeout)
        cluster = self.client.cluster(names, refresh=True, timeout=timeout)
        return overview(cluster, names)


def _as_line(event: Event) -> str:
    return f"{datetime.now().astimezone():%H:%M:%S} {event.kind}: {clean(event.message)}"


def _as_json(event: Event) -> str:
    fields = ("kind", "message", "broker", "topic", "partition", "before", "after")
    told = {name: getattr(event, name) for name in fields}
    return json.dumps({"time": time.time(), **told})


def _draw(watch: Watch) -> None:
    from rich.live import Live

    events: deque[str] = deque(maxlen=_EVENTS)
    with Live(console=console(), screen=True, auto_refresh=False) as live:

        def redraw() -> None:
            live.update(render(picture(watch, events)), refresh=True)

        redraw()
        watch.run(lambda event: events.append(_as_line(event)), redraw)


def _millis(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1000:.1f}"


def picture(watch: Watch, events: deque[str]) -> list[Table]:
    """Return what is shown: brokers, sums, connections, and the last events."""
    brokers, *_, sums = tables(watch.seen, detailed=False)
    rows = [
        [
            str(connection.broker),
            connection.lane,
            connection.address,
            connection.state if connection.phase is None else connection.phase,
            str(connection.in_flight),
            _millis(connection.round_trip_time),
            connection.last_error or "",
        ]
        for connection in watch.client.connections()
    ]
    header = ["broker", "lane", "connected to", "state", "in flight", "ms", "last error"]
    trouble = [f"the cluster cannot be asked: {watch.trouble}"] if watch.trouble else []
    return [
        brokers,
        sums,
        Table("connections", header, rows, trouble, bad=True),
        Table("events", [], [], list(events) or ["none yet; Ctrl-C ends"]),
    ]
