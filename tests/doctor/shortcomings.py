"""Set-ups of which the doctor's verdict is not right: the grade, and what is missing or false.

An entry is removed when the check is mended: a verdict that is better than its entry fails a test.
"""

from __future__ import annotations

from tests.doctor.judge import Grade

SHORTCOMINGS: dict[str, tuple[Grade, str]] = {}
