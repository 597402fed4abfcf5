"""The demo, whole: a mock cluster, a read into Arrow, and a Spark session of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.deep]
EVENTS = 20_000


@pytest.mark.timeout(300)
def test_each_event_is_read_back_twice() -> None:
    unset = {"OTTLA_BOOTSTRAP"}
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run(
        [sys.executable, "-m", "ottla.demo"],
        env={**environment, "OTTLA_DEMO_EVENTS": str(EVENTS)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "OTTLA_BOOTSTRAP is not set: three mock brokers run in this process." in done.stdout
    assert done.stdout.count(f"checked: {EVENTS:,} events, checksum ") == 2, done.stdout
