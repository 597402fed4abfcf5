"""Golden verdicts: one finding of a report, as ``ottla doctor`` prints it below its heading.

For set-ups whose whole report differs from run to run, such as which broker leads.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from ottla._internal.style import Style
from ottla.doctor.findings import Finding
from ottla.doctor.render import render_findings
from ottla.doctor.report import Report
from tests.support.golden import check_golden


def finding_of(report: Report, code: str) -> Finding:
    """Return the only finding with a code."""
    found = [finding for finding in report.findings if finding.code == code]
    assert len(found) == 1, f"{code} in {[f.code for f in report.findings]}\n{report}"
    return found[0]


def check_verdict(name: str, report: Report, code: str, shown: Mapping[str, str]) -> Finding:
    """Compare a finding with its golden text; `shown` replaces patterns that vary."""
    finding = finding_of(report, code)

    def replaced(text: str) -> str:
        for pattern, replacement in {r"within \d+ ms": "within T ms", **shown}.items():
            text = re.sub(pattern, replacement, text)
        return text

    # Before it is rendered, as the length of a name decides where lines break.
    example = dataclasses.replace(
        finding, summary=replaced(finding.summary), fix=replaced(finding.fix)
    )
    lines = ["", "verdict", *render_findings([example], Style())]
    check_golden(f"doctor/{name}", "\n".join(lines))
    return finding
