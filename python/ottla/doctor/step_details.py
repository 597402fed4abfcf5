"""The result of a step of a connection, as one line: the release, the certificate, ….

The line may contain text from the network, which the caller escapes.
"""

from __future__ import annotations

from ottla._internal.text import counted, iso_date
from ottla.doctor.connection_facts import Address, Step, Tls

# Host names of a certificate that are shown.
_NAMES = 3


def step_result(step: Step, address: Address) -> tuple[bool, str]:
    """Return whether a step passed at each connection, and what it showed or why it failed."""
    if not step.ok:
        return False, step.message or ""
    contrary = _contradiction(step, address)
    return not contrary, "; ".join(filter(None, (_detail(step, address), contrary)))


def is_contradicted(address: Address) -> bool:
    """Return whether a further connection showed something else than a step that passed."""
    return any(step.ok and _contradiction(step, address) for step in address.steps)


def _detail(step: Step, address: Address) -> str:
    """Return what a step that passed showed, or an empty text."""
    if step.check == "ApiVersions" and address.apis:
        release = f"Kafka {address.release} or newer, " if address.release else ""
        return f"{release}{counted(len(address.apis), 'API')}"
    if step.check == "TLS" and address.tls is not None:
        return _tls(address.tls)
    if step.check == "SASL" and address.mechanisms:
        return f"offered: {', '.join(address.mechanisms)}"
    if step.check == "Metadata" and address.view is not None:
        return counted(len(address.view.brokers), kind_of_node(address))
    if step.check == "Identity" and address.node is not None:
        return f"it is {kind_of_node(address)} {address.node}"
    return ""


def kind_of_node(address: Address) -> str:
    """Return what responds: ``controller`` if it does not serve clients, or ``broker``."""
    is_controller = "DescribeQuorum" in address.apis and "Metadata" not in address.apis
    return "controller" if is_controller else "broker"


def _contradiction(step: Step, address: Address) -> str:
    """Return what a further connection showed instead of a step's result, or an empty text."""
    if step.check == "Metadata" and address.other_clusters:
        return f"another connection leads to cluster {', '.join(address.other_clusters)}"
    if step.check == "Identity" and address.other_nodes:
        known = [f"broker {node}" for node in address.other_nodes if node is not None]
        return f"another connection leads to {', '.join(known) or 'another broker'}"
    return ""


def _tls(tls: Tls) -> str:
    parts = [str(tls.version), tls.subject or "no certificate"]
    if tls.names:
        more = ", …" if len(tls.names) > _NAMES else ""
        parts[1] += f" for {', '.join(tls.names[:_NAMES])}{more}"
    if tls.not_after is not None:
        parts.append(f"until {iso_date(tls.not_after)}")
    return ", ".join(parts)
