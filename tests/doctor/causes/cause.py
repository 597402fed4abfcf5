"""A set-up of the doctor and its true cause, as written down before the doctor was run on it.

A table of this package never follows the doctor's text: it follows what was set up. Where the two
differ, the doctor is at fault, and ``tests/doctor/shortcomings.py`` says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Cause:
    """A set-up, its true cause, and what a verdict has to say about it.

    Patterns are regular expressions without regard to case, searched in text without line breaks.

    Attributes:
        setup: what was set up.
        cause: the true cause: the step or the endpoint, and what is wrong there.
        names: patterns that the summary of one finding must all contain: the broker or the
            address, and the words of the cause.
        remedy: patterns that the fix of that finding must all contain.
        never: patterns that no finding may contain: false causes, and fixes that break something.
        also: patterns of consequences that may be reported as errors, too.
        severity: the severity of that finding, or "none" if there is nothing to report. A report
            with an error has an exit code other than 0, and one without has 0.
    """

    setup: str
    cause: str
    names: tuple[str, ...] = ()
    remedy: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    severity: Literal["error", "warning", "none"] = "error"
