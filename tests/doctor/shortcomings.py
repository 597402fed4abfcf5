"""Set-ups of which the doctor's verdict is not right: the grade, and what is missing or false.

An entry is removed when the check is mended: a verdict that is better than its entry fails a test.
"""

from __future__ import annotations

from tests.doctor.judge import Grade

_UNNAMED = "says that it is no Kafka broker, and not which program it is"

SHORTCOMINGS: dict[str, tuple[Grade, str]] = {
    "ports/redis": ("half", "says that it is silent: it answers each line with -ERR"),
    "ports/postgres": ("half", _UNNAMED),
    "ports/mysql": ("half", _UNNAMED),
    "ports/smtp": ("half", _UNNAMED),
    "ports/amqp": ("half", _UNNAMED),
    "ports/unknown_banner": ("half", "does not show the first bytes of what answered"),
    "ports/https": (
        "half",
        "says that the connection is closed; the step says that HTTP is spoken",
    ),
    "clusters/truncated_response": ("wrong", "takes a response that is cut for a SASL listener"),
    "clusters/two_behind_one_name": ("wrong", "does not see that one address has two clusters"),
    "clusters/advertised_unspecified": ("wrong", "recommends 0.0.0.0 as a bootstrap server"),
    "clusters/advertised_trailing_dot": ("half", "does not say that the dot is the reason"),
    "clusters/group_denied": ("wrong", "says that the coordinator does not work"),
    "clusters/latency": ("wrong", "takes a slow path behind a proxy for slow brokers"),
    "clusters/throttled": ("wrong", "takes a quota's throttling for slow brokers"),
    "namespaces/ipv6_name_without_ipv6": ("half", "does not say that it is IPv6 that is missing"),
    "namespaces/advertised_without_route": ("wrong", "calls addresses private that are not"),
    "namespaces/advertised_ports_refuse": ("wrong", "calls refused connections unreachable"),
    "namespaces/narrow_900": ("half", "does not say how to find the size that the path carries"),
    "brokers/tls_port_advertised": (
        "wrong",
        "its fix breaks the connection to the bootstrap server",
    ),
    "brokers/max_connections": ("half", "does not name max.connections as a cause"),
    "brokers/request_quota": ("wrong", "takes a quota's throttling for trouble with disks"),
    "brokers/throttled_and_stalling": (
        "wrong",
        "names other brokers, disks and controllers, and the quota as one of six reasons",
    ),
    "brokers/below_min_isr": ("wrong", "does not compare the in-sync replicas with the minimum"),
    "brokers/dead_voter": ("half", "does not say that the broker is a controller, too"),
    "brokers/not_eligible": ("half", "does not say that a replica which is up could be elected"),
    "brokers/stuck_reassignment": ("half", "does not say that a reassignment waits for the broker"),
}
