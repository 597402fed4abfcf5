"""What is wrong with one port: the same words for a bootstrap server and for an advertised address.

``at_port`` judges by the first check that failed. The caller says whose port it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

from ottla.doctor.facts import Address, Endpoint, Step
from ottla.doctor.findings import Finding, Severity
from ottla.doctor.tls_failures import TLS_FAILURES

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
    "controller_port": (
        "Metadata",
        "is the port of a KRaft controller, not of a broker",
        (
            "use the address of a broker's listener: controllers serve the quorum and no clients "
            "(controller.listener.names names theirs)"
        ),
    ),
    "large_requests_lost": (
        "Advertised",
        "and answers small requests there, but not one of 4 KiB: the way loses large packets",
        (
            "lower the MTU of this machine's interface to what the way carries (VPNs and tunnels "
            'take 20 to 100 bytes of 1500), let ICMP "fragmentation needed" through the '
            "firewalls, or clamp the MSS on the router"
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
        "has no SASL, but security.protocol asks for it",
        ("set security.protocol to {without}, or use the port of a listener with SASL"),
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


def at_port(
    subject: str,
    address: Address,
    step: Step,
    severity: Severity = "error",
    protocol: str = "PLAINTEXT",
) -> Finding:
    """Return the finding for the first check that failed at an address."""
    reason = step.reason or ""
    if reason in TLS_FAILURES:
        summary, fix = TLS_FAILURES[reason]
        detail = _certificate(reason, address) or step.message
        # That none is configured is all that there is to say.
        detail = "" if reason == "client_certificate_missing" else f" ({detail})"
        return Finding(severity, "TLS", reason, f"{subject} {summary}{detail}", fix)
    if reason in _SPEAKS:
        phase, summary, fix = _SPEAKS[reason]
        protocols = _protocols(protocol)
        summary, fix = summary.format(**protocols), fix.format(**protocols)
        if reason in {"wants_sasl", "mechanism"} and address.mechanisms:
            summary += f"; it offers {', '.join(address.mechanisms)}"
        if reason in {"credentials", "no_ticket", "no_token"} and step.message:
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
        if reason == "timed_out":
            fix = (
                f"check that the port speaks {step.check} and the broker's load; a way that loses "
                "large packets (MTU) stops handshakes too, because certificates are large"
            )
        return Finding(severity, step.check, f"{step.check.lower()}_{reason}", summary, fix)
    return Finding(
        severity,
        "Metadata",
        "no_metadata",
        f"{subject} speaks Kafka but gives no metadata: {step.message}",
        "look into the broker's log, check how clients authenticate on this listener, and whether "
        "the broker has joined its cluster",
    )


def _certificate(reason: str, address: Address) -> str:
    """Return what is to be known of the broker's certificate; empty if another one is meant."""
    tls = address.tls
    if tls is None or tls.subject is None:
        return ""
    names = ", ".join(tls.names) or "no name"
    return {
        "certificate_expired": f"{tls.subject}, valid until {_day(tls.not_after)}",
        "certificate_name": f"{tls.subject}, for {names}",
        "certificate_issuer": f"{tls.subject}, issued by {tls.issuer}",
    }.get(reason, "")


def _day(seconds: float | None) -> str:
    if seconds is None:
        return "an unknown day"
    return datetime.fromtimestamp(seconds, timezone.utc).date().isoformat()


def _protocols(configured: str) -> dict[str, str]:
    """Return the protocols that texts name: the configured one, with SASL, and without."""
    transport = "SSL" if configured.endswith("SSL") else "PLAINTEXT"
    return {"protocol": configured, "with_sasl": f"SASL_{transport}", "without": transport}


def _silent(subject: str, step: Step, severity: Severity) -> Finding:
    if step.reason == "timed_out":
        summary = f"{subject} accepts connections and then gives no answer ({step.message})"
        fix = (
            "check what listens there, the way to it, and the broker's log and load: a balancer or "
            "a tunnel without a broker behind it does that, a firewall that lets connections come "
            "up and drops what they carry, and a broker that hangs; for a slow one, raise --timeout"
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
