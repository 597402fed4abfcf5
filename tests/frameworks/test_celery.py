"""kombu and Celery on kombu's Kafka transport."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.frameworks.conftest import Broker
from tests.support.framework_pages import program as printed
from tests.support.frameworks import Framework, Way
from tests.support.waiting import wait_until

FRAMEWORK = "celery"
pytestmark = [pytest.mark.deep, pytest.mark.cluster]

TASKS = Counter(
    [f"billed {order}" for order in range(40)]
    + [f"{what} {order}" for what in ("refused", "paid") for order in range(10)]
)


def read(ledger: Path) -> list[str]:
    return ledger.read_text().splitlines() if ledger.exists() else []


@pytest.mark.parametrize("way", ["command", "original"])
def test_a_queue_of_kombu(way: Way, broker: Broker, framework: Framework) -> None:
    output = framework.run(way, "confluent_kafka", *printed("celery", "kombu_jobs"), env=broker.env)
    assert re.findall(r"^job (\d+)$", output, re.MULTILINE) == [str(i) for i in range(20)]
    assert len(broker.values("jobs", 1)) == 20
    wait_until(lambda: broker.all_committed("jobs-consumer-group", "jobs", 1))


@pytest.mark.parametrize("way", ["program", "original"])
def test_each_task_is_executed_once(
    way: Way, broker: Broker, framework: Framework, tmp_path: Path
) -> None:
    """In two forked processes, each replaced after ten tasks; a retry is sent by such a process."""
    ledger = tmp_path / "ledger"
    env = {**broker.env, "LEDGER": str(ledger)}
    framework.run(way, "confluent_kafka", *printed("celery", "celery_orders.py"), env=env)
    worker = (
        *printed("celery", "celery_shop worker"),
        "--max-tasks-per-child",
        "10",
        "--loglevel",
        "INFO",
    )
    with framework.start(way, "confluent_kafka", *worker, env=env) as running:
        running.wait_until(lambda: len(read(ledger)) >= TASKS.total())
        running.wait_until(lambda: broker.all_committed("shop-consumer-group", "shop"))
        running.stop()
    lines = [line.split(" ", 1) for line in read(ledger)]
    assert Counter(what for _, what in lines) == TASKS
    assert len({pid for pid, _ in lines}) >= 4
