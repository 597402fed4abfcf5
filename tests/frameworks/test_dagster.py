"""Dagster: assets load each record once, also after a materialization that failed half-way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from ottla.processing import Processor
from tests.frameworks.conftest import Broker
from tests.support.framework_pages import program as printed
from tests.support.frameworks import Framework
from tests.support.processing import run_until

FRAMEWORK = "dagster"
pytestmark = [pytest.mark.deep, pytest.mark.cluster]


def test_assets_load_each_record_once(broker: Broker, framework: Framework, tmp_path: Path) -> None:
    env = {**broker.env, "WAREHOUSE": str(tmp_path), "DAGSTER_HOME": str(tmp_path)}
    broker.create("orders", "orders.dead-letters")
    orders = printed("dagster", "--select orders")
    sent = 0

    def send(count: int) -> None:
        nonlocal sent
        numbers = [b"%d" % number for number in range(sent, sent + count)]
        broker.produce("orders", [(number, number) for number in numbers])
        sent += count

    def query(table: str, text: str) -> list[Any]:
        with duckdb.connect(tmp_path / f"{table}.duckdb") as database:
            return database.execute(text).fetchall()

    send(40)
    framework.run("program", "kafka", *orders, env=env)
    # A value that the table refuses fails the transaction, after rows of the range were inserted.
    send(20)
    query("orders", "create unique index no_such_value on orders (value)")
    broker.produce("orders", [(b"0", b"0")])
    with framework.start("program", "kafka", *orders, env=env) as running:
        output = running.end(code=1)
    assert "Constraint Error" in output
    query("orders", "drop index no_such_value")
    framework.run("program", "kafka", *orders, env=env)
    values = sorted(int(value) for (value,) in query("orders", "select value from orders"))
    assert values == sorted([*range(60), 0])

    def handle(record: Any) -> None:
        if int(record.value) % 10 == 0:
            raise ValueError(f"order {int(record.value)}")

    # Every dead letter is there once, however often the asset is materialized.
    for total in (7, 8):
        processor = Processor(
            handle, "orders", broker.bootstrap, group_id="billing", retry_delays=[]
        )
        run_until(processor, lambda: broker.all_committed("billing", "orders"))
        framework.run("program", "kafka", *printed("dagster", "--select failures"), env=env)
        found = query("failures", "select exception, message from failures")
        assert len(found) == total
        assert set(found) == {("ValueError", f"order {number}") for number in range(0, sent, 10)}
        send(10)
