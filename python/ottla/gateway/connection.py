"""``GatewayConnection``: a client's connection through a gateway, at one point in time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class GatewayError:
    """The latest response with an error on a connection.

    Attributes:
        api: the API.
        code: Kafka's name of the first error code in it.
        age: how long ago it came, in seconds.
    """

    api: str
    code: str
    age: float


@dataclass(frozen=True)
class GatewayConnection:
    """A client's connection through a gateway, at one point in time.

    Attributes:
        id: its number, which no other connection of the gateway has.
        peer: the client's address as ``host:port``.
        broker: the broker that the client named; None for the bootstrap address.
        roles: what it is for, from its requests: ``bootstrap``, ``data``, ``group``, ``share``,
            ``transaction`` and ``admin``. A client may use one for several.
        groups: the groups and share groups that its requests name; at most 16, with
            ``transactional_ids``.
        transactional_ids: the transactional ids that its requests name.
        client_id: the ``client.id`` of its latest request.
        software: the name and version of the client's library, or None if it has not sent them.
        user: the name with which the client has logged in by SASL PLAIN or SCRAM, or else the
            subject of its certificate; None if neither is known.
        received: the bytes received from the client.
        sent: the bytes sent to the client.
        requests: the number of requests by API.
        responses: the number of responses by API.
        waited: the time from each request to its response, added up by API, in seconds.
        in_flight: the requests that wait for their responses.
        errors: how often each error code was in a response, by API and Kafka's name of the code.
            A response has a code for each partition; of long ones the first 64 KiB count.
        last_error: the latest response with an error, or None. An injected fault that breaks the
            connection is NETWORK_EXCEPTION, a response that never comes REQUEST_TIMED_OUT.
        faults: how often injected faults have hit the connection, by the kind of the fault.
        throttled: how long brokers have asked the client to wait (KIP-219), added up, in seconds.
        age: how long it has been open, in seconds.
        idle: how long ago its latest request came, in seconds; None before the first one.
        end: why it has ended; None while it is open.
    """

    id: int
    peer: str
    broker: int | None
    roles: tuple[str, ...]
    groups: tuple[str, ...]
    transactional_ids: tuple[str, ...]
    client_id: str
    software: str | None
    user: str | None
    received: int
    sent: int
    requests: Mapping[str, int]
    responses: Mapping[str, int]
    waited: Mapping[str, float]
    in_flight: int
    errors: Mapping[str, Mapping[str, int]]
    last_error: GatewayError | None
    faults: Mapping[str, int]
    throttled: float
    age: float
    idle: float | None
    end: str | None = None


def connections_of(document: str) -> list[GatewayConnection]:
    """Return the connections of the core's JSON list."""
    return [_connection(values) for values in json.loads(document)]


def _connection(values: dict[str, Any]) -> GatewayConnection:
    fields = dict(values)
    for name in ("roles", "groups", "transactional_ids"):
        fields[name] = tuple(fields[name])
    if fields["last_error"] is not None:
        fields["last_error"] = GatewayError(**fields["last_error"])
    return GatewayConnection(**fields)
