"""Compares a report with the golden text of its set-up, and with the true cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ottla.doctor import Report
from tests.doctor.causes import CAUSES
from tests.doctor.judge import judge
from tests.doctor.shortcomings import SHORTCOMINGS
from tests.support.golden import Replacements, check_golden, render_golden

# The ports that reports show in place of a run's own.
BROKER, OTHER, CLOSED = 9092, 8080, 9999


def check_verdict(
    name: str, report: Report, replacements: Replacements, *, exact: bool = True
) -> None:
    """Compare a report with the golden text of this name, and judge it by the true cause.

    Args:
        name: the name of the set-up in ``CAUSES``.
        report: the report.
        replacements: the values of this run that the golden text shows as others.
        exact: whether the whole text is the same in each run. If not, only the verdict's grade is.
    """
    check_report(name, report.to_dict(), replacements, exact=exact)


def check_report(
    name: str, report: Mapping[str, Any], replacements: Replacements, *, exact: bool = True
) -> None:
    """Check a report in the form of `Report.to_dict()`, as ``check_verdict`` does."""
    text = render_golden(report, replacements)
    check_golden(f"doctor/{name}", text, exact=exact)
    judgement = judge(CAUSES[name], "\n" + text + "\n")
    expected = "right" if name not in SHORTCOMINGS else SHORTCOMINGS[name][0]
    assert judgement.grade == expected, f"{judgement}\n{text}"


def port_of(address: str) -> int:
    """Return the port of an address."""
    return int(address.rpartition(":")[2])
