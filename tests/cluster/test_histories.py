"""Histories of transactional producers and a consumer have no anomaly, on the mock and on Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.conftest import Brokers
from tests.history.checker import check
from tests.history.workload import run_workload


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.usefixtures("transaction_version")
def test_no_anomaly(brokers: Brokers, seed: int, tmp_path: Path) -> None:
    topic = brokers.create_topic(partitions=3)
    history = run_workload(brokers.bootstrap, topic, 3, seed, writers=3, transactions=12)
    (tmp_path / "history.json").write_text(history.to_json())
    assert check(history.events) == [], f"see {tmp_path / 'history.json'}"
