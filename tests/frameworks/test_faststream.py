"""FastStream with the confluent and the aiokafka broker, beside the originals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.frameworks.conftest import Broker
from tests.support.framework_pages import program as printed
from tests.support.frameworks import Client, Framework, Way

FRAMEWORK = "faststream"
pytestmark = [pytest.mark.deep, pytest.mark.cluster]

WAYS = [
    pytest.param("command", "confluent_kafka", id="confluent"),
    pytest.param("original", "confluent_kafka", id="confluent-original"),
    pytest.param("program", "aiokafka", id="aiokafka"),
    pytest.param("original", "aiokafka", id="aiokafka-original"),
]


def orders(ids: range) -> list[tuple[bytes | None, bytes]]:
    """Return the records of orders, each with its own key."""
    return [(b"%d" % i, json.dumps({"id": i, "amount": 3 * i}).encode()) for i in ids]


def decoded(values: list[bytes | None]) -> list[dict[str, Any]]:
    return [json.loads(value or b"null") for value in values]


def added_up(broker: Broker) -> list[int]:
    """Return the ids in all totals, sorted."""
    return sorted(i for total in decoded(broker.values("totals")) for i in total["ids"])


@pytest.mark.parametrize(("way", "client"), WAYS)
def test_orders_are_billed_and_added_up_once_each(
    way: Way, client: Client, broker: Broker, framework: Framework
) -> None:
    """Over a restart, with records that the handler rejects once."""
    broker.create("orders", "invoices", "totals")
    example = printed("faststream", f"faststream_{client.partition('_')[0]}.py")
    for ids in (range(100), range(100, 130)):
        broker.produce("orders", orders(ids))
        with framework.start(way, client, *example, env=broker.env) as program:
            everything = list(range(ids.stop))
            program.wait_until(lambda: added_up(broker) == everything)  # noqa: B023
            program.wait_until(lambda: broker.all_committed("billing", "orders"))
            program.wait_until(lambda: broker.all_committed("ledger", "invoices"))
            program.stop()
    invoices = broker.records("invoices")
    assert sorted(one["id"] for one in decoded(broker.values("invoices"))) == everything
    assert all(("source", b"billing") in invoice.headers for invoice in invoices)
    assert all(json.loads(i.value or b"")["id"] == int(i.key or b"") for i in invoices)
    totals = decoded(broker.values("totals"))
    assert sum(total["amount"] for total in totals) == sum(3 * i for i in everything)
    assert max(len(total["ids"]) for total in totals) > 1


@pytest.mark.parametrize("way", ["command", "original"])
def test_the_command_line_of_faststream(way: Way, broker: Broker, framework: Framework) -> None:
    broker.create("orders", "invoices", "totals")
    broker.produce("orders", orders(range(20)))
    program = printed("faststream", "faststream_confluent:app")
    with framework.start(way, "confluent_kafka", *program, env=broker.env) as running:
        running.wait_until(lambda: added_up(broker) == list(range(20)))
        running.stop()


def test_workers_are_new_processes_in_which_install_runs_again(
    broker: Broker, framework: Framework
) -> None:
    broker.create("orders", "invoices", "totals")
    broker.produce("orders", orders(range(40)))
    program = printed("faststream", "--workers 2")
    with framework.start("program", "aiokafka", *program, env=broker.env) as running:
        running.wait_until(lambda: set(added_up(broker)) == set(range(40)))
        running.stop()
