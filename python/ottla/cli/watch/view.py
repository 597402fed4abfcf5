"""The live view of a terminal: brokers, connections, rates, lags and the latest events.

Invariant: it fits the terminal's height by showing fewer events, which are last.
"""

from __future__ import annotations

import time
from collections import deque

from ottla import Event
from ottla.cli.options import style
from ottla.cli.tables import Table, as_text
from ottla.cli.topology import tables
from ottla.cli.watch.connections import connection_table, search_table
from ottla.cli.watch.lines import event_line
from ottla.cli.watch.session import Watch

# Events that the view shows at most, and in a terminal that is too low.
_EVENTS = 15
_FEW_EVENTS = 3
# The shortest time between two drawings, in seconds.
_REDRAW = 0.1


def draw(watch: Watch) -> None:
    """Draw the watch until it ends."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    events: deque[str] = deque(maxlen=_EVENTS)
    console = Console(highlight=False)
    drawn = 0.0
    with Live(console=console, screen=True, auto_refresh=False) as live:

        def redraw() -> None:
            nonlocal drawn
            # Events may come by the thousand.
            if time.monotonic() < drawn + _REDRAW:
                return
            drawn = time.monotonic()
            shown = as_text(view(watch, events, console.height), style())
            live.update(Text.from_ansi(shown, no_wrap=True), refresh=True)

        def on_event(event: Event) -> None:
            events.append(event_line(event))

        watch.run(on_event, redraw)


def view(watch: Watch, events: deque[str], height: int) -> list[Table]:
    """Return the tables of the view, for a terminal of some lines."""
    connections = watch.client.connections()
    if watch.overview is None:
        return [search_table(connections), connection_table(connections)]
    brokers, *_, totals = tables(watch.overview, detailed=False)
    shown = [brokers, totals]
    if watch.groups:
        from ottla.cli.watch.lag import lag_table

        shown.append(lag_table(watch.groups))
    if watch.error is not None:
        lines = [f"the metadata cannot be refreshed: {watch.error}"]
        shown.append(Table("", [], [], lines, bad=True))
    shown += [connection_table(connections), watch.rates.table()]
    used = as_text(shown, style()).count("\n")
    # An empty line and the title are above the events.
    room = max(_FEW_EVENTS, height - used - 2)
    latest = [*events][-room:] or ["none yet; Ctrl-C to exit"]
    return [*shown, Table("events", [], [], latest)]
