"""How notebooks show a doctor's report.

Invariant: as in ``ottla._internal.notebook``, all texts are escaped, and the styles are inline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla._internal.markup import cut
from ottla._internal.notebook import block, table
from ottla.doctor.flowchart import ends_at, flowchart

if TYPE_CHECKING:
    from ottla.doctor.report import Report


def report_html(report: Report) -> str:
    """Return the flowchart of a doctor's report, and its findings."""
    boxes = flowchart(report)
    end = ends_at(boxes)
    title = report.facts.good_outcome if end is None else f"Clients fail at {end.phase}."
    steps = [(box.phase, box.question, box.state.replace("_", " "), box.detail) for box in boxes]
    findings = [
        (found.severity, found.certainty, found.phase, cut(found.summary, 500), cut(found.fix, 500))
        for found in report.findings
    ]
    return block(
        title,
        table(("Phase", "Question", "State", "Detail"), steps, len(steps)),
        table(("Severity", "Certainty", "Phase", "Finding", "Fix"), findings, len(findings)),
    )
