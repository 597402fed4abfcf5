"""``GatewayEvent``: something that happened at a gateway."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any


@dataclass(frozen=True)
class GatewayEvent:
    """Something that happened at a gateway.

    Attributes:
        number: its number; later events have greater ones.
        time: when it happened; the last time if it repeated itself.
        kind: what happened: ``broker_joined``, ``broker_moved``, ``broker_left``,
            ``cluster_lost`` (it could not be asked for its brokers), ``cluster_found``,
            ``coordinator_moved``, ``refused`` (too many connections), ``denied`` (a request that
            the rules do not allow) or ``connection_failed``.
        count: how often, without another event in between.
        broker: the broker's id; the new coordinator of ``coordinator_moved``.
        name: the group or the transactional id whose coordinator has moved.
        client_id: the ``client.id`` of the connection.
        peer: the client's address as ``host:port``.
        detail: the broker's address, the API of a denied request, the cause of a failure, or the id
            of the coordinator before.
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

    def __str__(self) -> str:
        """Return the event as one line without its time."""
        broker, detail = self.broker, self.detail
        client = "a client" if not self.client_id else f"client {self.client_id!r}"
        if self.peer is not None:
            client += f" at {self.peer}"
        at = "the bootstrap address" if broker is None else f"broker {broker}"
        text = {
            "broker_joined": f"broker {broker} joined the cluster, at {detail}",
            "broker_moved": f"broker {broker} has another address: {detail}",
            "broker_left": f"broker {broker} left the cluster",
            "cluster_lost": f"the cluster cannot be asked for its brokers: {detail}",
            "cluster_found": "the cluster answers again",
            "coordinator_moved": (
                f"{self.name!r} moved its coordinator from broker {detail} to {broker} ({client})"
            ),
            "refused": f"{client} was refused: too many connections",
            "denied": f"{client} may not use {detail} here",
            "connection_failed": f"the connection of {client} to {at} failed: {detail}",
        }.get(self.kind, self.kind)
        return text if self.count == 1 else f"{text} ({self.count} times)"


def event_of(values: dict[str, Any]) -> GatewayEvent:
    """Return the event with the core's values."""
    time = datetime.fromtimestamp(values.pop("time"), timezone.utc)
    return GatewayEvent(time=time, **values)
