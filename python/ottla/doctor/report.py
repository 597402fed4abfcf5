"""The report: facts and findings, as text, as JSON, and as an exit code."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ottla.doctor.facts import Facts
from ottla.doctor.findings import EXIT_CODES, Finding
from ottla.doctor.render import render
from ottla.doctor.tree import Style


@dataclass(frozen=True)
class Report:
    """The facts and findings of ``ottla.diagnose``; ``str(report)`` formats them."""

    facts: Facts
    findings: tuple[Finding, ...]

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

    def __str__(self) -> str:
        return render(self.facts, self.findings, Style())
