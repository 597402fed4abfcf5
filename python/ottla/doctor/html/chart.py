"""The flowchart and the findings as HTML: boxes in the order of a client, then all findings."""

from __future__ import annotations

from collections.abc import Sequence

from ottla._internal.markup import Markup, element, joined
from ottla.doctor.findings import Finding
from ottla.doctor.flowchart import Box, ends_at

_STATES = {
    "passed": "passed",
    "warning": "warning",
    "failed": "failed",
    "not_reached": "not reached",
    "not_used": "not used",
}
# The classes of the severities; they have the colours of the boxes' states.
_CLASSES = {"error": "failed", "warning": "warning", "note": "note"}


def chart(boxes: Sequence[Box]) -> Markup:
    """Return the flowchart as a list of boxes; the one where it ends has cause and remedy."""
    end = ends_at(boxes)
    return element("ol", joined(_box(box, box is end) for box in boxes), class_="chart")


def _box(box: Box, is_end: bool) -> Markup:
    state = _STATES[box.state]
    if is_end:
        state = f"{state}: the diagnosis ends here"
    head = element(
        "div",
        element("h3", f"{box.phase}: {box.question}"),
        element("span", state, class_=f"state {box.state}"),
        class_="head",
    )
    parts = [head]
    if box.detail:
        parts.append(element("p", box.detail, class_="detail"))
    if box.cause:
        label = "Likely cause" if box.certainty == "likely" else "Cause"
        parts.append(_labelled(label, box.cause))
    if box.remedy:
        parts.append(_labelled("Remedy", box.remedy))
    return element("li", *parts, class_=f"is_{box.state}")


def findings_list(findings: Sequence[Finding]) -> Markup:
    """Return all findings, errors first."""
    if not findings:
        return element("p", "There are no findings.")
    return element("ul", joined(map(_finding, findings)), class_="findings")


def _finding(finding: Finding) -> Markup:
    severity = _CLASSES[finding.severity]
    head = element(
        "div",
        element("span", f"{finding.severity} ({finding.label})", class_=f"state {severity}"),
        element("span", finding.code, class_="detail"),
        class_="head",
    )
    parts = [head, element("p", finding.summary)]
    if finding.fix:
        parts.append(_labelled("Fix", finding.fix))
    return element("li", *parts, class_=f"is_{severity}")


def _labelled(label: str, text: str) -> Markup:
    return element("p", element("strong", f"{label}: "), text)
