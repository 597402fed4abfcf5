#!/usr/bin/env python3
"""Writes docs/fix/verdicts.md from the doctor's golden texts, tests/golden/doctor.

`make docs` calls it; a test fails when the page is not what it would write.
"""

from __future__ import annotations

import re
from pathlib import Path

from ottla.doctor.findings import EXIT_CODES

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "fix" / "verdicts.md"
GOLDEN = ROOT / "tests" / "golden" / "doctor"

HEAD = """# Verdicts

The report of [`ottla doctor`](doctor.md) on each failure, by the step that fails: the cause and the
fix. Addresses are examples. Each text comes from a test that makes the failure happen. A finding is
certain unless it says `likely`: then another cause would look alike.
"""

FINDING = re.compile(
    r"^  (?P<severity>error|warning|note) \((?P<phase>\w+)(?:, (?P<certainty>\w+))?\): "
    r"(?P<rest>.*?)(?=^  \w|\Z)",
    re.MULTILINE | re.DOTALL,
)
FIX = "fix:"
# Differs between two cases of one finding.
EXAMPLE = re.compile(r"[\w.-]+:\d+|\d+(?:\.\d+)*")


def findings() -> dict[str, dict[tuple[str, str], str]]:
    """Return by phase each summary with its severity, and its fix."""
    found: dict[str, dict[tuple[str, str], str]] = {}
    known = set()
    for path in sorted(GOLDEN.rglob("*.txt")):
        _, _, verdict = path.read_text().partition("\nverdict\n")
        for finding in FINDING.finditer(verdict):
            summary, _, fix = " ".join(finding["rest"].split()).partition(FIX)
            case = EXAMPLE.sub("…", summary)
            if case not in known:
                known.add(case)
                of_phase = found.setdefault(finding["phase"], {})
                sure = f", {finding['certainty']}" if finding["certainty"] else ""
                of_phase[finding["severity"] + sure, summary.strip()] = fix.strip()
    return found


def page() -> str:
    """Return the page's text."""
    found = findings()
    text = HEAD
    for phase in sorted(found, key=lambda phase: EXIT_CODES[phase]):
        text += (
            f"\n## {phase}\n\nExit code {EXIT_CODES[phase]}.\n\n| | cause | fix |\n|---|---|---|\n"
        )
        for (severity, summary), fix in found[phase].items():
            cells = (cell.replace("|", "\\|") for cell in (severity, summary, fix))
            text += "| " + " | ".join(cells) + " |\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page())
