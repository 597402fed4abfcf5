"""The demo, whole: a cluster, a read into Arrow, and a Spark session of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import ottla
from ottla.testing import MockCluster

pytestmark = [pytest.mark.spark, pytest.mark.deep]
EVENTS = 20_000


def demo(**variables: str) -> str:
    """Run the demo with these variables of the environment, and return its output."""
    environment = {name: value for name, value in os.environ.items() if name != "OTTLA_BOOTSTRAP"}
    done = subprocess.run(
        [sys.executable, "-m", "ottla.demo"],
        env={**environment, "OTTLA_DEMO_EVENTS": str(EVENTS), **variables},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(300)
def test_each_event_is_read_back_twice() -> None:
    output = demo()
    assert "OTTLA_BOOTSTRAP is not set: three mock brokers run in this process." in output
    assert output.count(f"checked: {EVENTS:,} events, checksum ") == 2, output


@pytest.mark.timeout(300)
def test_a_cluster_of_yours_is_used_and_left_as_it_was(mock_cluster: MockCluster) -> None:
    output = demo(OTTLA_BOOTSTRAP=mock_cluster.bootstrap)
    assert "OTTLA_BOOTSTRAP is not set" not in output
    assert output.count(f"checked: {EVENTS:,} events, checksum ") == 2, output
    assert mock_cluster.request_count("Produce") > 0
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        assert admin.list_topics() == []
