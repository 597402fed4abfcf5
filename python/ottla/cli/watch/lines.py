"""The watch as lines of text or JSON: each event, and optionally lags and rates.

Invariant: with JSON, each line is one object, whatever the names and messages contain.
"""

from __future__ import annotations

import json
import time
from datetime import datetime
from typing import Any

from ottla import Event
from ottla._internal.text import clean
from ottla.cli.watch.session import Watch

_FIELDS = ("message", "broker", "topic", "partition")


async def print_lines(watch: Watch, *, as_json: bool, with_rates: bool) -> None:
    """Print lines until the watch ends.

    Args:
        watch: the watch.
        as_json: whether each line is a JSON object.
        with_rates: whether to print the rates at each interval.
    """
    printed = time.monotonic()

    def on_event(event: Event) -> None:
        _print(_event_json(event) if as_json else event_line(event))

    def on_tick() -> None:
        nonlocal printed
        for group in watch.groups:
            if group.is_new():
                _print(_json("lag", group.to_json()) if as_json else line("lag", group.line()))
        if with_rates and time.monotonic() >= printed + watch.interval:
            printed = time.monotonic()
            rates = watch.rates
            _print(_json("rates", rates.to_json()) if as_json else line("rates", rates.line()))

    await watch.run(on_event, on_tick)


def event_line(event: Event) -> str:
    """Return an event as a line."""
    return line(event.kind, event.message)


def line(kind: str, message: str) -> str:
    """Return a message as a line with the time of day."""
    return f"{datetime.now().astimezone():%H:%M:%S} {kind}: {clean(message)}"


def _print(text: str) -> None:
    print(text, flush=True)


def _event_json(event: Event) -> str:
    values = {name: getattr(event, name) for name in _FIELDS}
    # In plans, `before` and `after` are text.
    return _json(event.kind, {**values, "previous": event.before, "current": event.after})


def _json(kind: str, values: dict[str, Any]) -> str:
    return json.dumps({"time": time.time(), "kind": kind, **values})
