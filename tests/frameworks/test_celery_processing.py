"""Celery's workers that a processor feeds: no record is lost when they are killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frameworks.conftest import Broker
from tests.support.framework_pages import program as printed
from tests.support.frameworks import Framework

FRAMEWORK = "celery"
pytestmark = [pytest.mark.deep, pytest.mark.cluster]

COUNT = 60
REJECTED = set(range(0, COUNT, 10))


def test_records_survive_workers_that_are_killed(
    broker: Broker, framework: Framework, tmp_path: Path
) -> None:
    ledger, results = tmp_path / "ledger", tmp_path / "results"
    results.mkdir()
    ledger.touch()
    env = {
        **broker.env,
        "LEDGER": str(ledger),
        "CELERY_BROKER_URL": f"confluentkafka://{broker.bootstrap}",
        "CELERY_RESULT_BACKEND": f"file://{results}",
    }
    broker.create("orders")
    worker = printed("celery", "celery_billing")

    def billed() -> set[int]:
        return {int(line.split()[1]) for line in ledger.read_text().splitlines()}

    def letters() -> set[int]:
        return {int(value or b"") for value in broker.values("orders.dead-letters")}

    numbers = [b"%d" % number for number in range(COUNT)]
    with framework.start(
        "command", "confluent_kafka", *printed("celery", "celery_feeder"), env=env
    ) as feeder:
        with framework.start("command", "confluent_kafka", *worker, env=env) as workers:
            broker.produce("orders", [(number, number) for number in numbers])
            workers.wait_until(billed)
            workers.kill()
        with framework.start("command", "confluent_kafka", *worker, env=env) as workers:
            expected = set(range(COUNT)) - REJECTED
            feeder.wait_until(lambda: billed() == expected, 240)
            feeder.wait_until(lambda: letters() == REJECTED, 240)
            feeder.wait_until(lambda: broker.all_committed("billing", "orders"))
            feeder.stop()
            workers.stop()
    reasons = [dict(one.headers) for one in broker.records("orders.dead-letters")]
    assert {one["__ottla.errors.message"] for one in reasons} == {
        b"order %d has no customer" % number for number in REJECTED
    }
