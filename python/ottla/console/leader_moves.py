"""Leaders that move together become one event: "343 leaders moved from broker 3".

A broker that ends moves all of its leaders within seconds, and the client reports each. Invariants:
each leader that moved is counted once; an event lists a bounded number of them.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

# Fewer are shown one by one.
_MIN_TOGETHER = 4
# Those that an event lists, the seconds in which later ones extend it.
_MAX_LISTED, _EXTENDED = 500, 10.0


class LeaderMoves:
    """The leaders that have moved and are not in the time line yet.

    Attributes:
        arrived: set while there are some.
    """

    def __init__(self) -> None:
        self.arrived = asyncio.Event()
        self._waiting: list[dict[str, Any]] = []
        # The last event by the broker that led before, with its number in the time line.
        self._extensible: dict[Any, tuple[int, dict[str, Any]]] = {}

    def add(self, event: dict[str, Any]) -> None:
        """Add a leader that moved, as ``samples.event`` returns it."""
        self._waiting.append(event)
        self.arrived.set()

    def take(self, now: float) -> list[dict[str, Any]]:
        """Return the events to add to the time line."""
        waiting, self._waiting = self._waiting, []
        self.arrived.clear()
        for broker, (_, event) in list(self._extensible.items()):
            if event["time"] < now - _EXTENDED:
                del self._extensible[broker]
        groups: dict[Any, list[dict[str, Any]]] = defaultdict(list)
        for each in waiting:
            groups[each["before"]].append(each)
        events = []
        for broker, moves in groups.items():
            if broker not in self._extensible and len(moves) < _MIN_TOGETHER:
                events += moves
            else:
                events.append(self._together(broker, moves, now))
        return events

    def numbered(self, event: dict[str, Any], number: int) -> None:
        """Remember the number that an event has in the time line, so that it can be extended."""
        if event["kind"] == "leaders_moved":
            self._extensible[event["before"]] = (number, event)

    def _together(self, broker: Any, moves: list[dict[str, Any]], now: float) -> dict[str, Any]:
        nothing: dict[str, Any] = {"count": 0, "none": 0, "moves": []}
        replaces, before = self._extensible.get(broker, (None, nothing))
        count = before["count"] + len(moves)
        none = before["none"] + sum(each["after"] is None for each in moves)
        listed = [{key: each[key] for key in ("topic", "partition", "message")} for each in moves]
        return {
            "time": now,
            "kind": "leaders_moved",
            "message": _message(broker, count, none),
            "broker": None,
            "before": broker,
            "count": count,
            "none": none,
            "moves": [*before["moves"], *listed][:_MAX_LISTED],
            "replaces": replaces,
        }


def _message(broker: Any, count: int, none: int) -> str:
    if broker is None:
        return f"{count:,} partitions have a leader again"
    moved = f"{count:,} leaders moved from broker {broker}"
    return f"{moved}: {none:,} of these partitions have none now" if none else moved
