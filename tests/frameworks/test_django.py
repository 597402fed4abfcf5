"""Django: views in forked workers that produce, and a management command that consumes."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.frameworks.conftest import Broker
from tests.support import web
from tests.support.framework_pages import program as printed
from tests.support.frameworks import EXAMPLES, Framework, Way
from tests.support.ports import free_ports

FRAMEWORK = "django"
pytestmark = [pytest.mark.deep, pytest.mark.cluster]

SHOP = EXAMPLES / "django_shop"


@pytest.mark.parametrize("preload", [(), ("--preload",)], ids=["", "preload"])
@pytest.mark.parametrize("way", ["program", "original"])
def test_views_in_forked_workers_produce(
    way: Way, preload: tuple[str, ...], broker: Broker, framework: Framework
) -> None:
    broker.create("orders")
    (port,) = free_ports(1)
    base = f"http://127.0.0.1:{port}"
    gunicorn = [word.replace(":8000", f":{port}") for word in printed("django", "gunicorn")]
    placed: dict[int, dict[str, Any]] = {}
    queued: dict[int, int] = {}

    def place(number: int) -> None:
        placed[number] = web.post(f"{base}/place/{number}", b'{"waits": true}')

    def queue(number: int) -> None:
        queued[number] = web.post(f"{base}/queue/{number}", b'{"waits": false}')["worker"]

    with framework.start(
        way, "confluent_kafka", *gunicorn, *preload, env=broker.env, directory=SHOP
    ) as server:
        server.wait_until(lambda: web.responds(f"{base}/"))
        numbers = iter(range(100_000))

        def both_workers_have_served() -> bool:
            with ThreadPoolExecutor(4) as threads:
                list(threads.map(place, [next(numbers) for _ in range(20)]))
                list(threads.map(queue, [next(numbers) for _ in range(20)]))
            return len(set(queued.values()) & {one["worker"] for one in placed.values()}) == 2

        server.wait_until(both_workers_have_served)
        # Workers write what is queued before they end.
        server.stop()
    records = {int(record.key or b""): record for record in broker.records("orders")}
    assert len(broker.records("orders")) == len(records) == len(placed) + len(queued)
    for number, reported in placed.items():
        record = records[number]
        assert (reported["partition"], reported["offset"]) == (record.partition, record.offset)
        assert record.value == b'{"waits": true}'
    assert all(records[number].value == b'{"waits": false}' for number in queued)


@pytest.mark.parametrize("way", ["program", "original"])
def test_a_management_command_consumes(way: Way, broker: Broker, framework: Framework) -> None:
    broker.create("orders", "invoices")
    for ids in (range(30), range(30, 50)):
        broker.produce("orders", [(b"%d" % i, json.dumps({"id": i}).encode()) for i in ids])
        program = printed("django", "bill")
        with framework.start(
            way, "confluent_kafka", *program, env=broker.env, directory=SHOP
        ) as command:
            command.wait_until(lambda: broker.all_committed("billing", "orders"))
            command.stop()
    written = sorted(json.loads(value or b"")["id"] for value in broker.values("invoices"))
    assert written == list(range(50))
