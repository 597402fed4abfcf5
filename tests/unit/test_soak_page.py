"""The soak's page says how long the run really was, and what it found."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.soak.growth import Growth
from tests.soak.outcome import Outcome
from tests.soak.page import duration, page, write_page
from tests.soak.sampling import Sample

PARAMETERS = {"minutes": 360.0, "rate": 100, "seed": 7, "pause": 30.0, "interval": 5.0}
VERSIONS = dict.fromkeys(("ottla", "Kafka", "PySpark", "pyarrow", "Python", "processors"), "1")


def outcome(*problems: str) -> Outcome:
    return Outcome(
        date="2026-11-28 05:00 UTC",
        seconds=3_720.0,
        parameters=PARAMETERS,
        versions=VERSIONS,
        problems=list(problems),
        counts={
            "the classic group": {"expected": 4_321, "delivered again": 17, "lost": 2},
            "writing": {"sent": 9_876, "unexpected": 3},
        },
        close_seconds={"writing": 0.25},
        faults={"broker killed": 12},
        moments=[(10.0, "broker killed"), (4_000.0, "broker killed")],
        growth=[
            Growth("writing", "memory", 20.0, 30.0, 4.0),
            Growth("writing", "descriptors", 15, 15, 4),
            Growth("writing", "threads", 8, 8, 2),
        ],
        samples={"writing": [Sample(float(n), 20 + n / 100, 15, 8) for n in range(0, 3_720, 5)]},
    )


def test_the_true_duration_is_stated_and_not_the_wanted_one() -> None:
    text = page(outcome())
    assert "lasted **1 h 2 min**" in " ".join(text.split())
    assert "6 h" not in text


@pytest.mark.parametrize(
    ("seconds", "text"), [(180, "3 minutes"), (3_600, "1 h 0 min"), (21_630, "6 h 0 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_problems_are_on_the_page() -> None:
    assert "**It found no problem.**" in page(outcome())
    text = page(outcome("writing: memory grew"))
    assert "**It found 1 problem:**" in text
    assert "- writing: memory grew" in text


def test_tables() -> None:
    text = page(outcome())
    assert "| the classic group | 4,321 | 17 | 2 |" in text
    assert "| writing | **20.0 → 30.0** | 15 → 15 | 8 → 8 |" in text
    assert "| broker killed | 12 |" in text
    assert "| writing | sent 9,876 |  | 0.2 |" in text
    assert "does not expect: 3." in text


def test_curves_are_drawn_from_zero_with_the_faults_of_the_run(tmp_path: Path) -> None:
    write_page(outcome(), tmp_path)
    for field in ("memory", "descriptors", "threads"):
        root = ET.parse(tmp_path / f"soak-{field}.svg").getroot()
        (curve,) = root.iter("{http://www.w3.org/2000/svg}polyline")
        (marks,) = root.iter("{http://www.w3.org/2000/svg}path")
        assert len(curve.attrib["points"].split()) <= 240
        # The second fault came when the run was over.
        assert marks.attrib["d"].count("M") == 1


def test_a_result_file_has_all_of_an_outcome(tmp_path: Path) -> None:
    outcome("a problem").save(tmp_path)
    assert Outcome.load(tmp_path) == outcome("a problem")
