"""Findings about ports that accept connections and do not speak Kafka: silent, closing, or foreign.

It follows from the probes of ``ottla.doctor.responder``; without them, the causes are listed.
"""

from __future__ import annotations

from ottla.doctor.certainty import certainty_of
from ottla.doctor.connection_facts import Address, Step
from ottla.doctor.findings import Finding, Severity

_FOREIGN = {"not_kafka", "closed", "timed_out", "other"}
# What listens at a port of each protocol, other than HTTP and SSH.
_SERVERS = {
    "AMQP": "a message broker such as RabbitMQ",
    "FTP": "an FTP server",
    "MySQL": "a MySQL or MariaDB database",
    "PostgreSQL": "a PostgreSQL database",
    "Redis": "a Redis server",
    "SMTP": "a mail server",
    "ZooKeeper": "ZooKeeper, which serves Kafka's brokers, not its clients",
}


def foreign_finding(
    subject: str, address: Address, step: Step, severity: Severity
) -> Finding | None:
    """Return the finding for a server whose protocol or first bytes are known, or None."""
    found = address.responder
    if found is None or found.small_response or step.reason not in _FOREIGN:
        return None
    if found.protocol in _SERVERS:
        return Finding(
            severity,
            "ApiVersions",
            f"speaks_{found.protocol.lower()}",
            f"{subject} is not Kafka: it speaks {found.protocol} (its first bytes: "
            f"{found.first_bytes})",
            f"use the address of a Kafka listener; this is {_SERVERS[found.protocol]}",
        )
    if found.first_bytes and found.protocol is None and step.check == "ApiVersions":
        return Finding(
            severity,
            "ApiVersions",
            "not_kafka",
            f"{subject} does not respond like a Kafka broker (its first bytes: "
            f"{found.first_bytes})",
            "check that this is the address of a Kafka listener, and that no proxy in between "
            "responds in its place",
        )
    return None


def silent_finding(
    subject: str, address: Address, step: Step, severity: Severity, alive: bool | None = None
) -> Finding:
    """Return the finding for a port that accepts connections and then does not respond.

    Args:
        subject: the subject of its sentence.
        address: the address.
        step: the failed check.
        severity: its severity.
        alive: whether the controllers still list the broker after longer than their session
            timeout; None if that is unknown.
    """
    found = address.responder
    summary = f"{subject} accepts connections but does not respond ({step.message})"
    if found is not None and found.small_response:
        return Finding(
            severity,
            "ApiVersions",
            "large_requests_lost",
            f"{subject} responds to requests with a small response, but not to larger ones: the "
            "network path drops large packets",
            MTU_FIX,
            certainty=certainty_of(step),
        )
    if found is not None and found.acknowledged is False:
        summary += (
            "; the bytes that were sent to it are not acknowledged, so they are lost on the way"
        )
        fix = (
            "check the firewalls, security groups and tunnels in between: one of them accepts "
            "connections but drops their data"
        )
    elif alive:
        summary += (
            "; the controllers still get its heartbeats, so its process runs, but does not serve "
            "new connections"
        )
        fix = (
            "check max.connections of the broker and of its listener against its open connections, "
            "and its network threads (num.network.threads): at the limit, new connections wait "
            "until others are closed"
        )
    elif alive is False:
        summary += (
            "; the controllers no longer get its heartbeats, so its process is frozen, not the "
            "network"
        )
        fix = (
            "check the broker's process: it was stopped (SIGSTOP, a debugger), or hangs in garbage "
            "collection, on a disk or in a paused virtual machine; restart it if it does not go on"
        )
    else:
        fix = (
            "check what listens there, and the broker's log and load; common causes are a broker "
            "whose process is frozen (SIGSTOP, garbage collection, a disk), one that has reached "
            "max.connections, a load balancer or a tunnel without a broker behind it, and a "
            "firewall that accepts connections but drops their data; if the broker is only slow, "
            "raise --timeout"
        )
    return Finding(severity, "ApiVersions", "silent", summary, fix, certainty="likely")


def closing_finding(subject: str, severity: Severity) -> Finding:
    """Return the finding for a port that closes connections at the first request."""
    return Finding(
        severity,
        "ApiVersions",
        "hangs_up",
        f"{subject} accepts connections but closes them at the first request",
        "check what listens there, and the broker's log; common causes are a limit that is reached "
        "(max.connections.per.ip, max.connections.per.ip.overrides), a load balancer without a "
        "broker behind it, and a listener of another protocol",
        certainty="likely",
    )


MTU_FIX = (
    "lower the MTU of this machine's network interface to what the path carries (tracepath "
    "measures it; VPNs and tunnels take 20 to 100 of 1500 bytes), "
    'let ICMP "fragmentation needed" through the '
    "firewalls, or clamp the MSS on the router"
)
