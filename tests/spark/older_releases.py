"""Tests that use an option which ottla refuses on the installed, older release of Spark.

Invariant: a failure counts as a skip only if its error is ottla's refusal, and if the refusal is
true of the installed release. Which options are refused is tested by any_pyspark.py.
"""

from __future__ import annotations

import importlib.metadata
import re

import pytest

_REFUSAL = re.compile(r"option (\w+) needs PySpark (\d+)\.(\d+) or newer, and this is ([\d.]+)")


def line(installed: str | None = None) -> tuple[int, int]:
    """Return the major and minor number of a release, by default of the installed one."""
    release = installed or importlib.metadata.version("pyspark")
    major, minor = map(int, release.split(".")[:2])
    return major, minor


def refusal(text: str, installed: str | None = None) -> str | None:
    """Return what a text says that an older release lacks, or None if no true refusal is in it.

    Args:
        text: the text of an error.
        installed: the release of PySpark; by default, that of this environment.
    """
    found = _REFUSAL.search(text)
    if found is None:
        return None
    if line(installed) >= (int(found[2]), int(found[3])):
        return None
    return f"the option {found[1]} needs PySpark {found[2]}.{found[3]}"


def skip_if_refused(report: pytest.TestReport, installed: str | None = None) -> None:
    """Turn a failure by a refusal of an older release into a skip with that reason.

    Args:
        report: the report of a test.
        installed: the release of PySpark; by default, that of this environment.
    """
    reason = refusal(report.longreprtext, installed) if report.failed else None
    if reason is not None:
        path, line, _ = report.location
        report.outcome = "skipped"
        report.longrepr = (path, line or 0, f"Skipped: {reason}")
