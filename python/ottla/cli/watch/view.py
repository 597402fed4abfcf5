"""The live view of a terminal: brokers, connections, rates, lags and the latest events.

Invariant: the view fits the terminal's height by showing fewer events, which are at the bottom.
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
from ottla.cli.watch.warning_lines import WarningLines

# The largest number of events in the view, and the number in a terminal that is too low.
_EVENTS = 15
_FEW_EVENTS = 3
# The shortest time between two drawings, in seconds.
_REDRAW = 0.1


async def draw(watch: Watch) -> None:
    """Draw the watch until it ends."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    events: deque[str] = deque(maxlen=_EVENTS)
    warnings = WarningLines()
    console = Console(highlight=False)
    drawn = 0.0
    with Live(console=console, screen=True, auto_refresh=False) as live:

        def redraw() -> None:
            nonlocal drawn
            # Thousands of events may arrive at once.
            if time.monotonic() < drawn + _REDRAW:
                return
            drawn = time.monotonic()
            events.extend(warnings.take())
            shown = as_text(view(watch, events, console.height), style())
            live.update(Text.from_ansi(shown, no_wrap=True), refresh=True)

        def on_event(event: Event) -> None:
            events.append(event_line(event))

        with warnings:
            await watch.run(on_event, redraw)


def view(watch: Watch, events: deque[str], height: int) -> list[Table]:
    """Return the tables of the view, for a terminal of some lines."""
    connections = watch.client.connections()
    if watch.overview is None:
        shown = [search_table(connections), connection_table(connections)]
        return [*shown, *([Table("events", [], [], [*events])] if events else [])]
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
