"""Quix Streams with a stateful aggregation and a changelog topic, killed and restarted."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.conftest import Broker
from tests.support.framework_pages import program as printed
from tests.support.frameworks import Framework, Way

FRAMEWORK = "quixstreams"
pytestmark = [pytest.mark.deep, pytest.mark.cluster]

EXAMPLE = printed("quix-streams", "quix_totals.py")
ACCOUNTS, CHANGELOG = 5, "changelog__accounts--payments--default"


def payments(ids: range) -> list[tuple[bytes | None, bytes]]:
    """Return the records of payments; an account is a key."""
    return [
        (b"account %d" % (i % ACCOUNTS), json.dumps({"id": i, "amount": i}).encode()) for i in ids
    ]


def totals_of(broker: Broker) -> dict[bytes, list[dict[str, Any]]]:
    """Return the running totals of each account, in their order."""
    totals: dict[bytes, list[dict[str, Any]]] = defaultdict(list)
    for record in broker.records("totals"):
        assert record.key is not None
        assert record.value is not None
        totals[record.key].append(json.loads(record.value))
    return dict(totals)


def expected(ids: range) -> dict[bytes, list[dict[str, Any]]]:
    """Return the running totals of payments that count once each."""
    totals: dict[bytes, list[dict[str, Any]]] = defaultdict(list)
    for key, value in payments(ids):
        assert key is not None
        payment = json.loads(value)
        before = totals[key][-1]["total"] if totals[key] else 0
        totals[key].append({"id": payment["id"], "total": before + payment["amount"]})
    return dict(totals)


@pytest.mark.parametrize("way", ["command", "original"])
@pytest.mark.parametrize("state", ["kept", "restored from the changelog"])
def test_exactly_once_through_a_kill(
    way: Way, state: str, broker: Broker, framework: Framework, tmp_path: Path
) -> None:
    broker.create("payments", "totals")
    broker.produce("payments", payments(range(300)))
    env = {**broker.env, "STATE": str(tmp_path / "first")}
    with framework.start(way, "confluent_kafka", *EXAMPLE, env=env) as first:
        first.wait_until(lambda: broker.count("totals") >= 100)
        first.kill()
    broker.produce("payments", payments(range(300, 500)))
    if state != "kept":
        env["STATE"] = str(tmp_path / "second")
    with framework.start(way, "confluent_kafka", *EXAMPLE, env=env) as second:
        second.wait_until(lambda: broker.count("totals") >= 500)
        second.wait_until(lambda: broker.all_committed("accounts", "payments"))
        second.stop()
    assert totals_of(broker) == expected(range(500))
    assert broker.values(CHANGELOG)


@pytest.mark.parametrize("way", ["command", "original"])
def test_at_least_once_through_a_kill(
    way: Way, broker: Broker, framework: Framework, tmp_path: Path
) -> None:
    """Records may be written again after a kill, but none is lost, and the state is right."""
    broker.create("payments", "totals")
    broker.produce("payments", payments(range(300)))
    env = {**broker.env, "GUARANTEE": "at-least-once", "STATE": str(tmp_path / "state")}
    with framework.start(way, "confluent_kafka", *EXAMPLE, env=env) as first:
        first.wait_until(lambda: broker.count("totals") >= 100)
        first.kill()
    broker.produce("payments", payments(range(300, 500)))
    with framework.start(way, "confluent_kafka", *EXAMPLE, env=env) as second:
        second.wait_until(lambda: broker.all_committed("accounts", "payments"))
        second.stop()
    totals, once = totals_of(broker), expected(range(500))
    for account, running in once.items():
        # What was written again says the same.
        written = {total["id"]: total["total"] for total in totals[account]}
        assert written == {total["id"]: total["total"] for total in running}
        assert all(total in running for total in totals[account])
