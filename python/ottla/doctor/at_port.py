"""What is wrong with one port: the same words for a bootstrap server and for an advertised address.

``at_port`` judges by the first check that failed. The caller says whose port it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from ottla.doctor.facts import Address, Endpoint, Step
from ottla.doctor.findings import Finding, Severity

# By reason: the phase, what it means, what to do.
_SPEAKS: Mapping[str, tuple[str, str, str]] = {
    "speaks_tls": (
        "TLS",
        "speaks TLS, but security.protocol says plaintext",
        "set security.protocol to SSL or SASL_SSL, or use the plaintext listener's port",
    ),
    "speaks_plaintext": (
        "TLS",
        "speaks plaintext, but security.protocol says TLS",
        "use the TLS listener's port, or set security.protocol to PLAINTEXT or SASL_PLAINTEXT",
    ),
    "speaks_http": (
        "ApiVersions",
        "is not Kafka: it answers HTTP",
        (
            "use the address of a Kafka listener; this is a web server, a REST proxy, a schema "
            "registry or a metrics port"
        ),
    ),
    "speaks_ssh": (
        "ApiVersions",
        "is not Kafka: it answers SSH",
        "use the address of a Kafka listener; this is an SSH server",
    ),
    "not_kafka": (
        "ApiVersions",
        "does not answer as a Kafka broker does",
        (
            "check that the address is one of a Kafka listener, and that nothing in between (a "
            "proxy, a controller's port) answers in its place"
        ),
    ),
    "certificate": (
        "TLS",
        "and this client do not trust each other",
        (
            "compare the names and the dates of the certificate with the address, and its issuer "
            "with ssl.truststore.location; with client certificates, the broker's truststore too"
        ),
    ),
    "mechanism": (
        "SASL",
        "does not offer the mechanism of sasl.mechanism",
        "use one of those that the listener offers, or enable it there (sasl.enabled.mechanisms)",
    ),
    "no_token": (
        "SASL",
        "wants a token, and this client gets none",
        (
            "check sasl.oauthbearer.token.endpoint.url, its certificate, the client's id and "
            "secret, and the way to it; or the token callback"
        ),
    ),
    "no_ticket": (
        "SASL",
        "wants a Kerberos ticket, and this client gets none",
        (
            "get a ticket with kinit, or give sasl.kerberos.keytab; the broker's principal is "
            "sasl.kerberos.service.name and its advertised host name"
        ),
    ),
    "credentials": (
        "SASL",
        "refused the credentials",
        "check user and password, or the token; the broker's log says why it refused",
    ),
    "without_sasl": (
        "SASL",
        "has no SASL, but security.protocol says so",
        (
            "set security.protocol to PLAINTEXT, or to SSL if the listener speaks TLS, or use the "
            "port of a listener with SASL"
        ),
    ),
    "wants_sasl": (
        "SASL",
        "wants SASL, but security.protocol is without",
        (
            "set security.protocol to SASL_PLAINTEXT or SASL_SSL with sasl.mechanism and "
            "credentials, or use a listener without SASL"
        ),
    ),
}

_TCP = {
    "refused": (
        "refuses connections: nothing listens there, or a firewall rejects",
        "check that the broker runs and that this is the port of one of its listeners",
    ),
    "timed_out": (
        "does not answer: packets vanish on the way",
        "check the address, the routing, and the firewalls and security groups in between",
    ),
    "unreachable": (
        "cannot be reached: there is no route to it",
        "check the address and the routing (VPN, peering, IPv4 and IPv6)",
    ),
}


def at_unresolved(
    subject: str, endpoint: Endpoint, severity: Severity = "error", code: str = "unresolved"
) -> Finding:
    """Return the finding for a name that has no address here."""
    host = endpoint.host
    hint = ""
    if "." not in host:
        hint = " (a name without dots is often one of a container, known in its own network only)"
    return Finding(
        severity,
        "DNS",
        code,
        f"the name {host!r} of {subject} cannot be resolved here: {endpoint.dns.message}",
        f"check the name{hint}; make it known by DNS or /etc/hosts, or use another",
    )


def at_port(subject: str, address: Address, step: Step, severity: Severity = "error") -> Finding:
    """Return the finding for the first check that failed at an address."""
    reason = step.reason or ""
    if reason in _SPEAKS:
        phase, summary, fix = _SPEAKS[reason]
        if reason in {"wants_sasl", "mechanism"} and address.mechanisms:
            summary += f"; it offers {', '.join(address.mechanisms)}"
        if reason in {"certificate", "credentials", "no_ticket", "no_token"} and step.message:
            summary += f": {step.message}"
        return Finding(severity, phase, reason, f"{subject} {summary}", fix)
    if step.check == "TCP":
        summary, fix = _TCP.get(reason, (f"cannot be connected to: {step.message}", "check it"))
        return Finding(severity, "TCP", f"tcp_{reason}", f"{subject} {summary}", fix)
    if step.check == "ApiVersions":
        return _silent(subject, step, severity)
    if step.check in {"TLS", "SASL"}:
        summary = f"{subject} fails in the {step.check} handshake: {step.message}"
        fix = "the broker's log says why it ended the handshake"
        return Finding(severity, step.check, f"{step.check.lower()}_{reason}", summary, fix)
    return Finding(
        severity,
        "Metadata",
        "no_metadata",
        f"{subject} speaks Kafka but gives no metadata: {step.message}",
        "look into the broker's log, check how clients authenticate on this listener, and whether "
        "the broker has joined its cluster",
    )


def _silent(subject: str, step: Step, severity: Severity) -> Finding:
    if step.reason == "timed_out":
        summary = f"{subject} accepts connections and then says nothing"
        fix = (
            "a balancer or a tunnel without a broker behind it does that, a firewall that lets "
            "connections come up and drops what they carry, and a broker that hangs: check what "
            "listens there, the way to it, and the broker's log and load"
        )
        return Finding(severity, "ApiVersions", "silent", summary, fix)
    if step.reason == "closed":
        summary = f"{subject} accepts connections and ends them at the first request"
        fix = (
            "a balancer without a broker behind it does that, and a listener of another kind: "
            "check what listens there, and the broker's log (max.connections)"
        )
        return Finding(severity, "ApiVersions", "hangs_up", summary, fix)
    summary = f"{subject} does not tell its versions: {step.message}"
    return Finding(severity, "ApiVersions", "no_versions", summary, "look into the broker's log")
