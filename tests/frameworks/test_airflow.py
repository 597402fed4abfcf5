"""Airflow: runs load each record of a topic once, whichever of their tasks fails in between."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import ottla
from tests.frameworks.conftest import Broker
from tests.support.framework_pages import program as printed
from tests.support.frameworks import EXAMPLES, Framework

FRAMEWORK = "airflow"
pytestmark = [pytest.mark.deep, pytest.mark.cluster]


def test_runs_load_each_record_once(broker: Broker, framework: Framework, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    env = {
        **broker.env,
        "LAKE": str(lake),
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(EXAMPLES),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }
    broker.create("orders")
    for command in ("db migrate", "dags reserialize"):
        framework.run("program", "kafka", "-m", "airflow", *command.split(), env=env)
    run = printed("airflow", "dags test")
    sent = 0

    def send(count: int) -> None:
        nonlocal sent
        numbers = [b"%d" % number for number in range(sent, sent + count)]
        broker.produce("orders", [(number, number) for number in numbers])
        sent += count

    def loaded() -> Counter[int]:
        files = [pq.read_table(file) for file in lake.glob("*.parquet") if file.is_file()]
        return Counter(int(value) for file in files for value in file["value"].to_pylist())

    send(40)
    # The first attempt to load fails, and records arrive before the next one.
    obstacle = lake / f"orders-1-{0:019}.parquet"
    obstacle.mkdir()
    with framework.start("program", "kafka", *run, env=env) as running:
        running.wait_until(lambda: "IsADirectoryError" in running.output)
        send(20)
        obstacle.rmdir()
        running.end()
    assert loaded() == Counter(range(40))
    framework.run("program", "kafka", *run, env=env)
    assert loaded() == Counter(range(60))
    assert broker.all_committed("lake", "orders")
    # As if this run had ended before it committed.
    ends = {("orders", part): pq.read_metadata(file).num_rows for part, file in first(lake).items()}
    with ottla.Admin(broker.bootstrap) as admin:
        admin.alter_group_offsets("lake", ends)
    send(10)
    framework.run("program", "kafka", *run, env=env)
    assert loaded() == Counter(range(70))


def first(lake: Path) -> dict[int, Path]:
    """Return the first file of each partition."""
    return {part: lake / f"orders-{part}-{0:019}.parquet" for part in range(2)}
