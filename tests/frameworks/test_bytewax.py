"""Bytewax's source and sink for Kafka, and its recovery."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from pathlib import Path

import pytest

from tests.frameworks.conftest import Broker
from tests.support.framework_pages import program as printed
from tests.support.frameworks import Framework, Way

FRAMEWORK = "bytewax"
pytestmark = [pytest.mark.deep, pytest.mark.cluster]

ACCOUNTS = 5


def payments(ids: range) -> list[tuple[bytes | None, bytes]]:
    """Return the records of payments; an account is a key."""
    return [
        (b"account %d" % (i % ACCOUNTS), json.dumps({"id": i, "amount": i}).encode()) for i in ids
    ]


def expected(ids: range) -> dict[tuple[bytes, int], int]:
    """Return the total of an account after each of its payments."""
    totals: dict[bytes, int] = defaultdict(int)
    after = {}
    for i in ids:
        account = b"account %d" % (i % ACCOUNTS)
        totals[account] += i
        after[account, i] = totals[account]
    return after


def written(broker: Broker) -> list[tuple[tuple[bytes, int], int]]:
    """Return the account, the payment and the total of each record."""
    found = []
    for record in broker.records("totals"):
        assert record.key is not None
        total = json.loads(record.value or b"")
        found.append(((record.key, total["id"]), total["total"]))
    return found


@pytest.mark.parametrize("way", ["command", "original"])
def test_a_flow_that_ends_at_the_end_of_the_topic(
    way: Way, broker: Broker, framework: Framework
) -> None:
    broker.create("payments", "totals")
    broker.produce("payments", payments(range(200)))
    started = time.time()
    program = printed("bytewax", "bytewax.run")
    flow = program[: program.index("-r")]
    framework.run(way, "confluent_kafka", *flow, env={**broker.env, "TAIL": "no"})
    assert sorted(written(broker)) == sorted(expected(range(200)).items())
    # The connector's default of a timestamp is 0, which means now.
    assert min(record.timestamp for record in broker.records("totals")) > started - 60


@pytest.mark.parametrize("way", ["command", "original"])
def test_recovery_after_a_kill(
    way: Way, broker: Broker, framework: Framework, tmp_path: Path
) -> None:
    """Records may be written again after a kill, but none is lost, and the state is right."""
    broker.create("payments", "totals")
    store = tmp_path / "recovery"
    store.mkdir()
    create, program = (
        [str(store) if word == "recovery" else word for word in printed("bytewax", name)]
        for name in ("bytewax.recovery", "bytewax.run")
    )
    framework.run(way, "confluent_kafka", *create)
    broker.produce("payments", payments(range(200)))
    with framework.start(way, "confluent_kafka", *program, env=broker.env) as first:
        first.wait_until(lambda: broker.count("totals") >= 200)
        broker.produce("payments", payments(range(200, 250)))
        first.wait_until(lambda: broker.count("totals") >= 210)
        first.kill()
    broker.produce("payments", payments(range(250, 300)))
    env = {**broker.env, "TAIL": "no"}
    framework.run(way, "confluent_kafka", *program, env=env)
    assert dict(written(broker)) == expected(range(300))
    assert set(written(broker)) == set(expected(range(300)).items())
