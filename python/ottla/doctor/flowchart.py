"""The flowchart of a diagnosis as data: a box for each phase, in the order of a client.

It is a pure function of the facts and findings; the console's page and the HTML report draw it.
Invariant: the chart ends at the box of the first phase with an error, whose exit code
``ottla doctor`` returns. But a failure at a broker's advertised address, such as one of its TLS,
belongs to the box ``Advertised``: the client passed the boxes before it at a bootstrap server.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from ottla.doctor.box_details import bootstrap_steps, detail_of
from ottla.doctor.checks.controller_servers import of_controllers
from ottla.doctor.facts import Facts
from ottla.doctor.findings import EXIT_CODES, Finding
from ottla.doctor.verdict import judge

BoxState = Literal["passed", "warning", "failed", "not_reached", "not_used"]

# The question of each phase.
QUESTIONS: Mapping[str, str] = {
    "DNS": "Does the name resolve?",
    "TCP": "Does the port accept connections?",
    "TLS": "Does the TLS handshake succeed?",
    "ApiVersions": "Does a Kafka broker respond?",
    "SASL": "Does the broker accept the credentials?",
    "Metadata": "Does the broker return the metadata of the cluster?",
    "Advertised": "Does each broker respond at its advertised address?",
    "Leaders": "Do the leaders serve their partitions?",
    "Coordinators": "Does the group have a working coordinator?",
    "Controllers": "Do the controllers have a leader?",
}


@dataclass(frozen=True)
class Box:
    """A box of the flowchart.

    Attributes:
        phase: the phase, a key of ``findings.EXIT_CODES``.
        question: the question that the phase answers, in plain English.
        state: ``passed``, ``warning`` (clients may fail), ``failed``, ``not_reached``, or
            ``not_used``: the configuration or the cluster has nothing to check here.
        detail: what was checked, as one line; it may contain text from the network.
        findings: the findings about the phase, errors first.
    """

    phase: str
    question: str
    state: BoxState
    detail: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def cause(self) -> str:
        """The problem, if the box failed or has a warning; otherwise empty."""
        return self.findings[0].summary if self.state in {"failed", "warning"} else ""

    @property
    def certainty(self) -> str:
        """How sure the cause is: ``certain`` or ``likely``; empty without one."""
        return self.findings[0].certainty if self.state in {"failed", "warning"} else ""

    @property
    def remedy(self) -> str:
        """What to do, if the box failed or has a warning; otherwise empty."""
        return self.findings[0].fix if self.state in {"failed", "warning"} else ""


class Judged(Protocol):
    """Facts with the findings about them, such as a ``Report``."""

    @property
    def facts(self) -> Facts:
        """The facts."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings."""


def flowchart(found: Facts | Judged) -> tuple[Box, ...]:
    """Return the boxes in the order in which a client meets the phases.

    Args:
        found: a report, or facts, which are judged first.
    """
    facts, findings = (
        (found, judge(found)) if isinstance(found, Facts) else (found.facts, found.findings)
    )
    return tuple(_box(facts, findings, phase) for phase in EXIT_CODES)


def ends_at(boxes: Iterable[Box]) -> Box | None:
    """Return the first box that failed, where the diagnosis ends; None if none did."""
    return next((box for box in boxes if box.state == "failed"), None)


def box_of(finding: Finding) -> str:
    """Return the phase of the box to which a finding belongs."""
    if finding.brokers and EXIT_CODES[finding.phase] < EXIT_CODES["Advertised"]:
        return "Advertised"
    return finding.phase


def _box(facts: Facts, findings: Iterable[Finding], phase: str) -> Box:
    about = tuple(finding for finding in findings if box_of(finding) == phase)
    state = _state(facts, phase, {finding.severity for finding in about})
    detail = _WHY_NOT_USED[phase] if state == "not_used" else detail_of(facts, phase)
    question = QUESTIONS[phase]
    if facts.has_controllers:
        question = of_controllers(question)
        detail = _NOT_SERVED if state == "not_used" and phase in _OF_BROKERS else detail
    if phase in {"TLS", "SASL"} and state == "not_used":
        detail = f"{detail} {facts.security_protocol}"
    return Box(phase, question, state, detail, about)


def _state(facts: Facts, phase: str, severities: set[str]) -> BoxState:
    if "error" in severities:
        return "failed"
    if "warning" in severities:
        return "warning"
    if _passed(facts, phase):
        return "passed"
    return "not_reached" if _used(facts, phase) else "not_used"


def _passed(facts: Facts, phase: str) -> bool:
    """Return whether any check of the phase passed."""
    if phase == "Advertised":
        return any(broker.endpoint.working is not None for broker in facts.brokers)
    if phase == "Leaders":
        # A failure without a finding here has its cause in an earlier box.
        checked = [p for broker in facts.brokers for p in broker.partitions]
        return bool(checked) and all(p.failure is None for p in checked)
    if phase == "Coordinators":
        return facts.coordinator is not None and facts.coordinator.failure is None
    if phase == "Controllers":
        return facts.quorum is not None and facts.quorum.failure is None
    return any(step.ok for step in bootstrap_steps(facts, phase))


_WHY_NOT_USED = {
    "TLS": "not used: security.protocol is",
    "SASL": "not used: security.protocol is",
    "Leaders": "there is no partition to check",
    "Coordinators": "no group was given",
    "Controllers": "the brokers report no quorum of KRaft controllers, or not to this principal",
}
# Phases of which controllers know nothing.
_OF_BROKERS = {"Leaders", "Coordinators"}
_NOT_SERVED = "controllers do not serve this: check the brokers too"


def _used(facts: Facts, phase: str) -> bool:
    """Return whether a client meets this phase, and the checks were to check it."""
    if phase == "TLS":
        return facts.security_protocol.endswith("SSL")
    if phase == "SASL":
        return facts.security_protocol.startswith("SASL")
    if facts.has_controllers and phase in _OF_BROKERS:
        return False
    if facts.cluster is None:
        return True
    if phase == "Leaders":
        topics = facts.topics
        return topics is None or topics.error is not None or topics.partitions > 0
    if phase == "Coordinators":
        return facts.coordinator is not None
    return phase != "Controllers" or facts.quorum is not None
