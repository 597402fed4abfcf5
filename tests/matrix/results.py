"""The kept results of rows: `results.json`, one object a row.

Invariant: only the runner writes the file, and a result says what ran: the exact version, the day,
the counts, the tests that failed, and each reason for which tests were skipped.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

FILE = Path(__file__).with_name("results.json")


@dataclass(frozen=True)
class Counts:
    """What a run of pytest counted.

    Attributes:
        passed: tests that passed, in the run or alone after it.
        failed: names of tests that failed both times.
        skipped: how many tests were skipped, by reason.
        flaky: names of tests that passed only alone.
    """

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    flaky: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Result:
    """The last run of a row.

    Attributes:
        version: the exact version, such as `3.13.0`.
        date: the day in UTC, as `2026-11-27`.
        minutes: how long the tests took, without installing packages.
        platform: the system and the processor, such as `Linux x86_64`.
        counts: what the run counted.
    """

    version: str
    date: str
    minutes: float
    platform: str
    counts: Counts


def read(file: Path = FILE) -> dict[str, Result]:
    """Return the kept results by row."""
    if not file.exists():
        return {}
    return {
        name: Result(**{**fields, "counts": Counts(**fields["counts"])})
        for name, fields in json.loads(file.read_text()).items()
    }


def keep(results: Mapping[str, Result], file: Path = FILE) -> None:
    """Write results in place of those of the same rows."""
    merged = {**read(file), **results}
    text = json.dumps({name: asdict(merged[name]) for name in sorted(merged)}, indent=1)
    file.write_text(f"{text}\n")


def count(report: Path) -> Counts:
    """Return the counts of a run by its report in JUnit's format; failures are named elsewhere."""
    passed, skipped = 0, Counter[str]()
    # pytest wrote it.
    for case in ET.parse(report).iter("testcase"):
        reasons = [each.get("message", "") for each in case.findall("skipped")]
        skipped.update(reasons)
        broken = case.find("failure") is not None or case.find("error") is not None
        passed += not reasons and not broken
    return Counts(passed, skipped=dict(sorted(skipped.items())))
