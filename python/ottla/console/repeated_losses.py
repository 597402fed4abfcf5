"""Attempts to connect that fail alike become one event: "…, 6 times since 09:32:37".

A client tries a broker that is down about once a second. Invariant: a broker that stays down, and
responds to each attempt alike, has one event, so it does not push others out of the time line.
"""

from __future__ import annotations

from typing import Any

# The causes that are remembered for a broker.
_MAX_CAUSES = 8


class RepeatedLosses:
    """The last loss of each broker's connections that the time line has, by its cause."""

    def __init__(self) -> None:
        # By broker and cause, the number in the time line and the event.
        self._last: dict[Any, dict[str, tuple[int, dict[str, Any]]]] = {}

    def extended(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return the event to add to the time line for one of the client's.

        A loss that repeats an earlier one replaces it, with the number of losses (``count``) and
        the time of the first (``since``).
        """
        broker = event["broker"]
        if event["kind"] != "connection_lost":
            if broker is not None and event["kind"] in {"connection_opened", "broker_lost"}:
                self._last.pop(broker, None)
            return event
        if (last := self._last.get(broker, {}).get(event["message"])) is None:
            return event
        number, before = last
        since = before.get("since", before["time"])
        return {**event, "count": before.get("count", 1) + 1, "since": since, "replaces": number}

    def numbered(self, event: dict[str, Any], number: int) -> None:
        """Remember the number that an event has in the time line, so that it can be extended."""
        if event["kind"] == "connection_lost":
            causes = self._last.setdefault(event["broker"], {})
            causes[event["message"]] = (number, event)
            if len(causes) > _MAX_CAUSES:
                del causes[next(iter(causes))]
