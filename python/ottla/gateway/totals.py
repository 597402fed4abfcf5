"""``GatewayTotals``: what all connections of a gateway did since it started."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class GatewayTotals:
    """What all connections of a gateway did since it started; no value ever falls but ``open``.

    Attributes:
        open: the connections that are open.
        accepted: the connections that were accepted, with those that are open.
        refused: the connections that were closed when they were accepted, since there were too
            many.
        received: the bytes received from clients.
        sent: the bytes sent to clients.
        requests: the number of requests by API.
        responses: the number of responses by API.
        waited: the time from each request to its response, added up by API, in seconds.
        errors: how often each error code was in a response, by API and Kafka's name of the code.
        faults: how often injected faults have hit requests or connections, by the kind of the
            fault.
        throttled: how long brokers have asked clients to wait (KIP-219), added up, in seconds.
    """

    open: int
    accepted: int
    refused: int
    received: int
    sent: int
    requests: Mapping[str, int]
    responses: Mapping[str, int]
    waited: Mapping[str, float]
    errors: Mapping[str, Mapping[str, int]]
    faults: Mapping[str, int]
    throttled: float


def totals_of(document: str) -> GatewayTotals:
    """Return the totals of the core's JSON object."""
    return GatewayTotals(**json.loads(document))
