"""``GatewayEvent``: something that happened at a gateway."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class GatewayEvent:
    """Something that happened at a gateway.

    Attributes:
        number: its number; later events have greater ones.
        time: when it happened; the last time if it repeated itself.
        kind: what happened: ``broker_joined``, ``broker_moved``, ``broker_left``,
            ``cluster_lost`` (it could not be asked for its brokers), ``cluster_found``,
            ``coordinator_moved``, ``refused`` (too many connections), ``denied`` (a request that
            the rules do not allow), ``connection_failed``, ``fault_injected``, ``fault_removed`` or
            ``fault_hit``.
        count: how often, without another event in between.
        broker: the broker's id; the new coordinator of ``coordinator_moved``.
        name: the group or the transactional id whose coordinator has moved.
        client_id: the ``client.id`` of the connection.
        peer: the client's address as ``host:port``.
        detail: the broker's address, the API of a denied request, the cause of a failure, the id of
            the coordinator before, or the fault.
        text: the event as one line without its time.
    """

    number: int
    time: datetime
    kind: str
    count: int
    broker: int | None
    name: str | None
    client_id: str | None
    peer: str | None
    detail: str | None
    text: str

    def __str__(self) -> str:
        """Return the event as one line without its time."""
        return self.text


def events_of(document: str) -> list[GatewayEvent]:
    """Return the events of the core's JSON list."""
    return [
        GatewayEvent(**{**values, "time": datetime.fromisoformat(values["time"])})
        for values in json.loads(document)
    ]
