"""The connections of a client as a table, with the terms of the console's Connections page."""

from __future__ import annotations

from collections.abc import Sequence

from ottla import ConnectionStatus
from ottla._internal.text import counted
from ottla.cli.tables import Table
from ottla.cli.units import elapsed

_STATES = {
    "connected": "connected",
    "connecting": "connecting",
    "backing_off": "waits after a failure",
    "disconnected": "not connected",
}
_ROLES = {
    "bootstrap": "bootstrap",
    "data": "data",
    "coordinator": "group coordinator",
    "transaction coordinator": "transaction coordinator",
}
_HEADER = [
    "broker",
    "role",
    "address",
    "state",
    "round trip",
    "in flight",
    "throttled for",
    "open for",
]


def connection_table(connections: Sequence[ConnectionStatus]) -> Table:
    """Return a row for each connection, and below them the last error of each."""
    rows = [
        [
            # Bootstrap servers have no id.
            _broker(each),
            _ROLES.get(each.role, each.role),
            each.address,
            state_of(each),
            _time(each.round_trip_time),
            str(each.in_flight),
            _time(each.throttled_for),
            _time(each.connected_for),
        ]
        for each in connections
    ]
    errors = [
        f"{_name(each)}: last error: {each.last_error}"
        for each in connections
        if each.last_error is not None
    ]
    connected = sum(each.state == "connected" for each in connections)
    title = f"connections: {connected} open of {len(connections)}"
    return Table(title, _HEADER, rows, list(dict.fromkeys(errors)), bad=True)


def state_of(connection: ConnectionStatus) -> str:
    """Return the state, with the setup step that is running or has failed."""
    state = _STATES.get(connection.state, connection.state)
    if not connection.phases:
        return state if connection.phase is None else f"{state}: {connection.phase}"
    phase, seconds = connection.phases[-1]
    if connection.state == "connecting":
        return f"{state}: {phase}, {elapsed(seconds)}"
    lost = connection.state == "disconnected" and connection.last_error is not None
    if connection.state == "backing_off" or lost:
        return f"{state}: {phase} failed"
    return state


def search_table(connections: Sequence[ConnectionStatus]) -> Table:
    """Return the progress of the search for the cluster."""
    found = counted(len(connections), "bootstrap server")
    return Table("looking for the cluster", [], [], [f"{found} tried so far; Ctrl-C to exit"])


def _broker(connection: ConnectionStatus) -> str:
    return "none" if connection.broker < 0 else str(connection.broker)


def _name(connection: ConnectionStatus) -> str:
    if connection.broker < 0:
        return f"bootstrap server {connection.address}"
    return f"broker {connection.broker} ({_ROLES.get(connection.role, connection.role)})"


def _time(seconds: float | None) -> str:
    return "" if seconds is None else elapsed(seconds)
