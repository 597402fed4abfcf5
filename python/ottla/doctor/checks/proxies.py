"""Findings about the proxy of ``proxy.url``, through which every broker is reached.

Invariant: a failure at the proxy is a finding about the proxy, not about the broker's port or name.
"""

from __future__ import annotations

from collections.abc import Mapping

from ottla.doctor.connection_facts import Step
from ottla.doctor.findings import Finding, Severity

# By reason: the fix.
_FIXES: Mapping[str, str] = {
    "proxy_unreachable": (
        "check the host and the port in proxy.url, that the proxy is running, and the path from "
        "this machine to it"
    ),
    "proxy_credentials": (
        "write user:password@ before the proxy's host in proxy.url, percent-encoded, or correct "
        "them; the proxy's log has the reason"
    ),
    "proxy_refused": (
        "let the proxy's rules allow connections to the host and port of each broker, bootstrap "
        "servers and advertised addresses alike (Squid: SSL_ports and Safe_ports)"
    ),
    "proxy_cannot_connect": (
        "check that the proxy's machine resolves the broker's name and reaches its port: names "
        "are resolved by the proxy, not on this machine"
    ),
    "not_a_proxy": (
        "use the address of a SOCKS5 or HTTP proxy in proxy.url, with its scheme: socks5h:// or "
        "http://"
    ),
}


def proxy_finding(subject: str, step: Step, phase: str, severity: Severity) -> Finding | None:
    """Return the finding for a check that failed at the proxy, or None if it failed behind it.

    Args:
        subject: the server that cannot be reached, such as ``bootstrap server kafka1:9092``.
        step: the failed check.
        phase: the phase of the finding.
        severity: the severity of the finding.
    """
    code = step.reason or ""
    if code not in _FIXES:
        if step.check != "Proxy":
            return None
        # It timed out, or the doctor's time was over.
        code = "proxy_silent"
    return Finding(
        severity,
        phase,
        code,
        f"{subject} cannot be reached through the proxy: {step.message}",
        _FIXES.get(code, _FIXES["proxy_cannot_connect"]),
        certainty="likely" if code == "proxy_silent" else "certain",
    )
