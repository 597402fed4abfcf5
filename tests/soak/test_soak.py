"""Three minutes of the soak: all of its parts, with faults, find no problem.

OTTLA_SEED=n replays the faults of a run. The hours of `make soak` find what grows slowly.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.soak.page import page, write_page
from tests.soak.plan import Plan
from tests.soak.run import soak

pytestmark = [pytest.mark.cluster, pytest.mark.fault, pytest.mark.spark, pytest.mark.deep]


@pytest.mark.timeout(1500)
def test_three_minutes(tmp_path: Path) -> None:
    seed = int(os.environ.get("OTTLA_SEED", random.randrange(1_000_000)))
    print(f"OTTLA_SEED={seed}")
    outcome = soak(Plan(minutes=3, rate=50, seed=seed, pause=5, interval=1, directory=tmp_path))
    assert outcome.problems == [], "\n".join(outcome.problems)
    assert len(outcome.moments) >= 5, outcome.faults
    assert min(counts.get("expected", 1) for counts in outcome.counts.values()) > 0
    write_page(outcome, tmp_path)
    assert "**3 minutes**" in page(outcome)
    assert "**It found no problem.**" in (tmp_path / "soak.md").read_text()
