"""``ottla watch``: show brokers, leaders, connections and events of a cluster as they change.

On a terminal the view is redrawn in place; otherwise each event is printed as a line. The metadata
is refreshed every ``--interval`` seconds, in addition to the client's own refreshes.
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
from ottla.cli.options import add_cluster, connect, style
from ottla.cli.packages import require
from ottla.cli.tables import Table, as_text
from ottla.cli.topology import Overview, overview, tables
from ottla.doctor.tree import clean
from ottla.errors import KafkaError

# Events that the view shows.
_EVENTS = 15
# The longest delay, in seconds, between an event and its display.
_REDRAW = 0.25


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "watch",
        help="show the cluster as it changes",
        description="Show brokers, leaders, connections and events as they change, until Ctrl-C. "
        "If the output is not a terminal, print each event as a line.",
    )
    add_cluster(parser)
    parser.add_argument("-t", "--topic", action="append", help="this topic only; may be repeated")
    parser.add_argument("--interval", type=float, default=2.0, help="seconds between refreshes (2)")
    parser.add_argument("--for", dest="seconds", type=float, help="exit after this many seconds")
    parser.add_argument("--json", action="store_true", help="print each event as a line of JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Watch until Ctrl-C, or for the given time."""
    live = sys.stdout.isatty() and not arguments.json
    if live:
        require("the live view (unless --json is given)", "rich")
    with connect(arguments) as client:
        watch = Watch(client, arguments.topic, arguments.interval, arguments.seconds)
        if live:
            _draw(watch)
        else:
            format_event = _as_json if arguments.json else _as_line
            watch.run(lambda event: print(format_event(event), flush=True))
    return 0


class Watch:
    """Refreshes a cluster's metadata periodically; keeps the latest overview and its events."""

    def __init__(
        self, client: Client, topics: list[str] | None, interval: float, seconds: float | None
    ) -> None:
        self.client = client
        self.error: str | None = None
        self._names = topics
        self._interval = max(interval, 0.1)
        self._until = None if seconds is None else time.monotonic() + seconds
        # Events begin after this first overview.
        self.overview = self._fetch()
        self._events = client.events(all_topics=topics is None)

    def run(
        self, on_event: Callable[[Event], None], on_redraw: Callable[[], None] = lambda: None
    ) -> None:
        """Pass each event to ``on_event``, and call ``on_redraw`` at least every quarter second."""
        due = time.monotonic() + self._interval
        while self._until is None or time.monotonic() < self._until:
            event = self._events.next(timeout=min(_REDRAW, max(0.0, due - time.monotonic())))
            if event is not None:
                on_event(event)
            if time.monotonic() >= due:
                self.refresh()
                due = time.monotonic() + self._interval
            on_redraw()

    def refresh(self) -> None:
        """Refresh the overview; an error is kept for display and does not end the watch."""
        try:
            self.overview = self._fetch()
            self.error = None
        except KafkaError as error:
            self.error = str(error)

    def _fetch(self) -> Overview:
        timeout = max(self._interval, 5.0)
        names = self._names or self.client.list_topics(timeout=timeout)
        cluster = self.client.cluster(names, refresh=True, timeout=timeout)
        return overview(cluster, names)


def _as_line(event: Event) -> str:
    return f"{datetime.now().astimezone():%H:%M:%S} {event.kind}: {clean(event.message)}"


def _as_json(event: Event) -> str:
    fields = ("kind", "message", "broker", "topic", "partition", "before", "after")
    values = {name: getattr(event, name) for name in fields}
    return json.dumps({"time": time.time(), **values})


def _draw(watch: Watch) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    events: deque[str] = deque(maxlen=_EVENTS)
    with Live(console=Console(highlight=False), screen=True, auto_refresh=False) as live:

        def redraw() -> None:
            text = Text.from_ansi(as_text(view(watch, events), style()), no_wrap=True)
            live.update(text, refresh=True)

        redraw()
        watch.run(lambda event: events.append(_as_line(event)), redraw)


def _millis(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1000:.1f}"


def view(watch: Watch, events: deque[str]) -> list[Table]:
    """Return the live view: brokers, totals, connections, and the latest events."""
    brokers, *_, totals = tables(watch.overview, detailed=False)
    rows = [
        [
            str(connection.broker),
            connection.role,
            connection.address,
            connection.state if connection.phase is None else connection.phase,
            str(connection.in_flight),
            _millis(connection.round_trip_time),
            connection.last_error or "",
        ]
        for connection in watch.client.connections()
    ]
    header = ["broker", "role", "connected to", "state", "in flight", "ms", "last error"]
    errors = [f"the metadata cannot be refreshed: {watch.error}"] if watch.error else []
    return [
        brokers,
        totals,
        Table("connections", header, rows, errors, bad=True),
        Table("events", [], [], list(events) or ["none yet; Ctrl-C to exit"]),
    ]
