"""The watch as lines, for people or as JSON: each event, and if wanted lags and rates."""

from __future__ import annotations

import json
import time
from datetime import datetime
from typing import Any

from ottla import Event
from ottla.cli.watch.session import Watch
from ottla.doctor.tree import clean


def event_line(event: Event) -> str:
    """Return an event as a line."""
    return _line(event.kind, event.message)


def print_lines(watch: Watch, *, as_json: bool, with_rates: bool) -> None:
    """Print lines until the watch ends.

    Args:
        watch: the watch.
        as_json: whether each line is a JSON object.
        with_rates: whether to print the rates at each interval.
    """
    printed = time.monotonic()

    def on_event(event: Event) -> None:
        print(_event_json(event) if as_json else event_line(event), flush=True)

    def on_tick() -> None:
        nonlocal printed
        for group in watch.groups:
            if group.is_new():
                line = _json("lag", group.to_json()) if as_json else _line("lag", group.line())
                print(line, flush=True)
        if with_rates and time.monotonic() >= printed + watch.interval:
            printed = time.monotonic()
            rates = watch.rates
            line = _json("rates", rates.to_json()) if as_json else _line("rates", rates.line())
            print(line, flush=True)

    watch.run(on_event, on_tick)


def _line(kind: str, message: str) -> str:
    return f"{datetime.now().astimezone():%H:%M:%S} {kind}: {clean(message)}"


def _event_json(event: Event) -> str:
    fields = ("message", "broker", "topic", "partition", "before", "after")
    return _json(event.kind, {name: getattr(event, name) for name in fields})


def _json(kind: str, values: dict[str, Any]) -> str:
    return json.dumps({"time": time.time(), "kind": kind, **values})
