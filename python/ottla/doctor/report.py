"""The report: what was seen, what it means, as text, as JSON, and as an exit code."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ottla.doctor.facts import Facts
from ottla.doctor.findings import EXIT_CODES, Finding
from ottla.doctor.picture import draw
from ottla.doctor.tree import Style


@dataclass(frozen=True)
class Report:
    """What the doctor saw and what it concludes; ``str(report)`` is the picture."""

    facts: Facts
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found by which clients fail."""
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """0, or the code of the first phase in which something is wrong."""
        errors = [EXIT_CODES[f.phase] for f in self.findings if f.severity == "error"]
        return min(errors, default=0)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "ok": self.ok,
            "exit_code": self.exit_code,
            "findings": [dataclasses.asdict(finding) for finding in self.findings],
            "facts": dataclasses.asdict(self.facts),
        }

    def __str__(self) -> str:
        return draw(self.facts, self.findings, Style())
