"""Findings about one port, worded alike for bootstrap servers and for advertised addresses.

``port_finding`` classifies the first failed check. The caller passes the subject of its sentence.
"""

from __future__ import annotations

from collections.abc import Mapping

from ottla._internal.text import iso_date
from ottla.doctor.checks.controller_ports import CONTROLLER_FAILURES
from ottla.doctor.checks.proxies import proxy_finding
from ottla.doctor.checks.silence import closing_finding, foreign_finding, silent_finding
from ottla.doctor.checks.tls_failures import TLS_FAILURES
from ottla.doctor.connection_facts import Address, Endpoint, Step
from ottla.doctor.findings import Finding, Severity

# By reason: the phase, the problem, and the fix.
_FAILURES: Mapping[str, tuple[str, str, str]] = {
    "speaks_tls": (
        "TLS",
        "speaks TLS, but security.protocol is {protocol}",
        "set security.protocol to SSL or SASL_SSL, or use the port of a plaintext listener",
    ),
    "speaks_plaintext": (
        "TLS",
        "speaks plaintext, but security.protocol is {protocol}",
        "set security.protocol to PLAINTEXT or SASL_PLAINTEXT, or use the port of a TLS listener",
    ),
    "speaks_http": (
        "ApiVersions",
        "is not Kafka: it speaks HTTP",
        (
            "use the address of a Kafka listener; this is a web server, a REST proxy, a schema "
            "registry or a metrics port"
        ),
    ),
    "speaks_ssh": (
        "ApiVersions",
        "is not Kafka: it speaks SSH",
        "use the address of a Kafka listener; this is an SSH server",
    ),
    "not_kafka": (
        "ApiVersions",
        "does not respond like a Kafka broker",
        (
            "check that this is the address of a Kafka listener, and that no proxy in between "
            "responds in its place"
        ),
    ),
    **CONTROLLER_FAILURES,
    "mechanism": (
        "SASL",
        "does not offer the configured sasl.mechanism",
        (
            "use a mechanism that the listener offers, or enable the configured one there "
            "(sasl.enabled.mechanisms)"
        ),
    ),
    "no_token": (
        "SASL",
        "requires a token, and this client has none",
        (
            "check sasl.oauthbearer.token.endpoint.url, its certificate, the client id and secret, "
            "and the network path to it; or check the token callback"
        ),
    ),
    "no_ticket": (
        "SASL",
        "requires a Kerberos ticket, and this client has none",
        (
            "get a ticket with kinit, or set sasl.kerberos.keytab; the broker's principal consists "
            "of sasl.kerberos.service.name and its advertised host name"
        ),
    ),
    "credentials": (
        "SASL",
        "rejected the credentials",
        "check the user name and the password, or the token; the broker's log has the reason",
    ),
    "without_sasl": (
        "SASL",
        "does not use SASL, but security.protocol is {protocol}",
        "set security.protocol to {without}, or use the port of a listener with SASL",
    ),
    "wants_sasl": (
        "SASL",
        "requires SASL, but security.protocol is {protocol}",
        (
            "set security.protocol to {with_sasl} with sasl.mechanism and credentials, or use a "
            "listener without SASL"
        ),
    ),
}

_TCP_FAILURES = {
    "refused": (
        "refuses connections: nothing listens there, or a firewall rejects them",
        "check that the broker is running, and that this is the port of one of its listeners",
    ),
    "timed_out": (
        (
            "does not respond: packets are dropped on the way, or its process is frozen or at "
            "max.connections, so that its queue of new connections is full"
        ),
        (
            "check the address, the routing, the firewalls and security groups in between, and "
            "the broker's process and max.connections"
        ),
    ),
    "unreachable": (
        "cannot be reached: there is no route to it",
        "check the address and the routing (VPN, peering, IPv4 and IPv6)",
    ),
}


def unresolved_finding(
    subject: str, endpoint: Endpoint, severity: Severity = "error", code: str = "unresolved"
) -> Finding:
    """Return the finding for a host name that cannot be resolved."""
    host = endpoint.host
    hint = ""
    if "." not in host:
        hint = " (a name without dots is often that of a container, known only in its own network)"
    found = proxy_finding(subject, endpoint.dns, "DNS", severity)
    return found or Finding(
        severity,
        "DNS",
        code,
        f"the host name {host!r} of {subject} cannot be resolved on this machine: "
        f"{endpoint.dns.message}",
        f"check the name{hint}; add it to DNS or /etc/hosts, or use another name",
        # The name server did not respond, which says little about the name.
        certainty="likely" if "emporary" in (endpoint.dns.message or "") else "certain",
    )


def ipv6_finding(subject: str, address: Address, step: Step, severity: Severity) -> Finding | None:
    """Return the finding for an IPv6 address that this machine has no route to, or None.

    It stands for its name: other addresses of the name are tried, and preferred in findings.
    """
    if ":" not in address.ip or step.reason != "unreachable":
        return None
    return Finding(
        severity,
        "TCP",
        "no_ipv6",
        f"{subject} has only IPv6 addresses ({address.ip}), and this machine has no IPv6 route to "
        "them",
        "use a name with an IPv4 address (an A record), or give this machine IPv6 connectivity "
        "(containers often have none)",
    )


def port_finding(
    subject: str,
    address: Address,
    step: Step,
    severity: Severity = "error",
    protocol: str = "PLAINTEXT",
    alive: bool | None = None,
) -> Finding:
    """Return the finding for the first check that failed at an address.

    Args:
        subject: the subject of the finding's sentence, such as ``bootstrap server kafka1:9092``.
        address: the address.
        step: the failed check.
        severity: the severity of the finding.
        protocol: the configured ``security.protocol``.
        alive: whether the controllers list the broker as alive, as for ``silent_finding``.
    """
    found = proxy_finding(subject, step, "TCP", severity)
    if found is not None:
        return found
    reason = step.reason or ""
    responder = address.responder
    if responder is not None and responder.protocol in {"HTTP", "SSH"}:
        reason = f"speaks_{responder.protocol.lower()}"
    if reason == "closed" and (step.message or "").startswith("this is not Kafka: it speaks HTTP"):
        # In a TLS connection, the core reports a web server so.
        reason = "speaks_http"
    if reason in TLS_FAILURES:
        summary, fix = TLS_FAILURES[reason]
        detail = _certificate(reason, address) or step.message
        # The summary of a missing client certificate says it all.
        detail = "" if reason == "client_certificate_missing" else f" ({detail})"
        return Finding(severity, "TLS", reason, f"{subject} {summary}{detail}", fix)
    foreign = foreign_finding(subject, address, step, severity)
    if foreign is not None:
        return foreign
    if reason in _FAILURES:
        phase, summary, fix = _FAILURES[reason]
        protocols = _protocols(protocol)
        summary, fix = summary.format(**protocols), fix.format(**protocols)
        if reason in {"speaks_http", "speaks_ssh"} and responder and responder.first_bytes:
            summary += f" (its first bytes: {responder.first_bytes})"
        if reason in {"wants_sasl", "mechanism"} and address.mechanisms:
            summary += f"; it offers {', '.join(address.mechanisms)}"
        if reason in {"credentials", "no_ticket", "no_token"} and step.message:
            summary += f": {step.message}"
        if reason == "no_token" and "sasl.oauthbearer.token.provider:" in (step.message or ""):
            fix = "correct what the token provider's error says: the broker got no token yet"
        return Finding(severity, phase, reason, f"{subject} {summary}", fix)
    if step.check == "TCP":
        other = f"cannot be connected to: {step.message}", "check the address and the network"
        summary, fix = _TCP_FAILURES.get(reason, other)
        no_route = ipv6_finding(subject, address, step, severity)
        return no_route or Finding(
            severity,
            "TCP",
            f"tcp_{reason}",
            f"{subject} {summary}",
            fix,
            certainty="likely" if reason == "timed_out" else "certain",
        )
    if step.check == "ApiVersions":
        return _no_api_versions(subject, address, step, severity, alive)
    if step.check in {"TLS", "SASL"}:
        summary = f"{subject} fails in the {step.check} handshake: {step.message}"
        fix = "check the broker's log, which has the reason"
        if reason == "timed_out":
            fix = (
                f"check that the port speaks {step.check}, and the broker's load; a network path "
                "that drops large packets (MTU) stalls handshakes too, because certificates are "
                "large"
            )
        return Finding(
            severity,
            step.check,
            f"{step.check.lower()}_{reason}",
            summary,
            fix,
            certainty="likely",
        )
    return Finding(
        severity,
        "Metadata",
        "no_metadata",
        f"{subject} speaks Kafka but returns no metadata: {step.message}",
        "check the broker's log, how clients authenticate on this listener, and whether the broker "
        "has joined its cluster",
        certainty="certain" if step.code is not None else "likely",
    )


def _certificate(reason: str, address: Address) -> str:
    """Return the details of the broker's certificate that explain a failure, or an empty text."""
    tls = address.tls
    if tls is None or tls.subject is None:
        return ""
    names = ", ".join(tls.names) or "no host name"
    until = "an unknown date" if tls.not_after is None else iso_date(tls.not_after)
    return {
        "certificate_expired": f"{tls.subject}, valid until {until}",
        "certificate_name": f"{tls.subject}, for {names}",
        "certificate_issuer": f"{tls.subject}, issued by {tls.issuer}",
    }.get(reason, "")


def _protocols(configured: str) -> dict[str, str]:
    """Return the protocols for the texts: the configured one, with SASL, and without."""
    transport = "SSL" if configured.endswith("SSL") else "PLAINTEXT"
    return {"protocol": configured, "with_sasl": f"SASL_{transport}", "without": transport}


def _no_api_versions(
    subject: str, address: Address, step: Step, severity: Severity, alive: bool | None
) -> Finding:
    if step.reason == "timed_out":
        return silent_finding(subject, address, step, severity, alive)
    if step.reason == "closed":
        return closing_finding(subject, severity)
    summary = f"{subject} does not return its API versions: {step.message}"
    return Finding(severity, "ApiVersions", "no_versions", summary, "check the broker's log")
