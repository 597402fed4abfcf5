"""The report: facts and findings, as text, as JSON, as HTML, and as an exit code."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any

from ottla._internal.style import Style
from ottla.doctor.facts import Facts
from ottla.doctor.findings import EXIT_CODES, Finding
from ottla.doctor.render import render


@dataclass(frozen=True)
class Report:
    """The facts and findings of ``ottla.diagnose``; ``str(report)`` formats them.

    Attributes:
        facts: the results of the checks.
        findings: the conclusions, errors first.
        time: when the diagnosis ended, in seconds since 1970.
    """

    facts: Facts
    findings: tuple[Finding, ...]
    time: float = dataclasses.field(default_factory=time.time, compare=False)

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """The code of the first phase with an error, or 0."""
        errors = [EXIT_CODES[f.phase] for f in self.findings if f.severity == "error"]
        return min(errors, default=0)

    def to_dict(self) -> dict[str, Any]:
        """Return facts and findings as plain values, for JSON."""
        return {
            "ok": self.ok,
            "exit_code": self.exit_code,
            "findings": [dataclasses.asdict(finding) for finding in self.findings],
            "facts": dataclasses.asdict(self.facts),
        }

    def to_html(self) -> str:
        """Return the report as a complete HTML document, which contains and loads nothing else."""
        # Most reports are never shown as HTML.
        from ottla.doctor.flowchart import flowchart
        from ottla.doctor.html import page

        return page(self.facts, self.findings, flowchart(self), self.exit_code, self.time)

    def _repr_html_(self) -> str:
        from ottla.doctor.notebook import report_html

        return report_html(self)

    def __str__(self) -> str:
        return render(self.facts, self.findings, Style())
