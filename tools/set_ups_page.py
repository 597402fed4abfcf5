#!/usr/bin/env python3
"""Writes docs/fix/set-ups.md: each set-up of the doctor's tests, its true cause, and the verdict.

`make docs` calls it; a test fails when the page is not what it would write.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.doctor.causes import CAUSES  # noqa: E402
from tests.doctor.judge import judge  # noqa: E402
from tests.doctor.shortcomings import SHORTCOMINGS  # noqa: E402

PAGE = ROOT / "docs" / "fix" / "set-ups.md"
GOLDEN = ROOT / "tests" / "golden" / "doctor"

HEAD = """# Set-ups

How often [`ottla doctor`](doctor.md) is right: each set-up of its tests, with its true cause. The
last 58 causes were written down before the doctor was run on their set-ups. Two of them were
corrected afterwards, since the set-up was not what it was meant to be: the dot at the end of a
name, and the replica that is not eligible. Before the checks were mended, 26 of these 58 verdicts
were not right; since the checks were mended with these set-ups at hand, the share below says less
about faults that are not among them. A set-up that says "once more" repeats another in another way.

A verdict is right if it names the place and the cause, if its fix is a remedy, and if it claims
nothing that is false; half right if a part of that is missing; and wrong if it says nothing or
something false. It is wrong with certainty if nothing in it expresses doubt.

"""


def page() -> str:
    """Return the page's text."""
    rows, grades, certain = [], Counter[str](), 0
    for name, cause in CAUSES.items():
        found = judge(cause, (GOLDEN / f"{name}.txt").read_text())
        grades[found.grade] += 1
        certain += found.certain
        _, shortcoming = SHORTCOMINGS.get(name, ("right", ""))
        verdict = found.grade + (", with certainty" if found.certain else "")
        verdict += f": {shortcoming}" if shortcoming else ""
        rows.append(f"| {cause.setup} | {cause.cause} | {verdict} |\n")
    share = grades["right"] / len(CAUSES)
    summary = f"All {len(CAUSES)} verdicts are right."
    if share < 1:
        summary = (
            f"Of {len(CAUSES)} set-ups, {grades['right']} verdicts are right ({share:.0%}), "
            f"{grades['half']} half right, and {grades['wrong']} wrong, {certain} of them with "
            "certainty."
        )
    return f"{HEAD}{summary}\n\n| set-up | true cause | verdict |\n|---|---|---|\n" + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page())
