"""The metrics of a gateway in Prometheus' text format.

Invariant: no label has a value that a client chooses, so that there are never more series than
APIs, error codes, roles and brokers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ottla._internal.exposition import Family, exposition
from ottla.gateway.connection import GatewayConnection
from ottla.gateway.totals import GatewayTotals


def render(connections: Iterable[GatewayConnection], totals: GatewayTotals) -> str:
    """Return the metrics of a gateway as text, for the content type of ``ottla.prometheus``."""
    families = {
        name: Family(text, "counter", [({}, value)])
        for name, text, value in [
            ("connections_accepted_total", "Connections that were accepted.", totals.accepted),
            (
                "connections_refused_total",
                "Connections that were closed at once, since there were too many.",
                totals.refused,
            ),
            ("received_bytes_total", "Bytes received from clients.", totals.received),
            ("sent_bytes_total", "Bytes sent to clients.", totals.sent),
            (
                "throttle_seconds_total",
                "Seconds for which brokers have asked clients to wait (KIP-219).",
                totals.throttled,
            ),
        ]
    }
    families["requests_total"] = _by_api("Requests.", totals.requests)
    families["responses_total"] = _by_api("Responses.", totals.responses)
    families["response_wait_seconds_total"] = _by_api(
        "Seconds from requests to their responses.", totals.waited
    )
    families["errors_total"] = Family(
        "Error codes in responses, one for each partition.",
        "counter",
        [
            ({"api": api, "error": code}, count)
            for api, codes in totals.errors.items()
            for code, count in codes.items()
        ],
    )
    families["faults_total"] = Family(
        "Requests and connections that injected faults have hit.",
        "counter",
        [({"fault": fault}, count) for fault, count in totals.faults.items()],
    )
    known = list(connections)
    brokers = Counter("bootstrap" if one.broker is None else str(one.broker) for one in known)
    roles = Counter(role for one in known for role in one.roles)
    families["connections"] = _gauge("Open connections by broker.", "broker", brokers)
    families["connections_by_role"] = _gauge(
        "Open connections by role; one may have several.", "role", roles
    )
    families["requests_in_flight"] = Family(
        "Requests that wait for their responses.",
        "gauge",
        [({}, sum(one.in_flight for one in known))],
    )
    return exposition({f"kafka_gateway_{name}": family for name, family in families.items()})


def _by_api(text: str, values: Mapping[str, float]) -> Family:
    return Family(text, "counter", [({"api": api}, value) for api, value in values.items()])


def _gauge(text: str, label: str, values: Mapping[str, int]) -> Family:
    return Family(text, "gauge", [({label: key}, n) for key, n in sorted(values.items())])
