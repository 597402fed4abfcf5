"""FastAPI: views that produce and background tasks that consume, in two workers of uvicorn."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.frameworks.conftest import Broker
from tests.support import web
from tests.support.framework_pages import program as printed
from tests.support.frameworks import Framework, Way
from tests.support.ports import free_ports

FRAMEWORK = "fastapi"
pytestmark = [pytest.mark.deep, pytest.mark.cluster]


@pytest.mark.parametrize("way", ["program", "original"])
def test_two_workers_produce_and_consume(way: Way, broker: Broker, framework: Framework) -> None:
    broker.create("orders", "invoices")
    (port,) = free_ports(1)
    base = f"http://127.0.0.1:{port}"
    uvicorn = [word.replace("8000", str(port)) for word in printed("fastapi", "fastapi_orders")]
    placed: dict[int, dict[str, Any]] = {}

    def place(number: int) -> None:
        body = json.dumps({"id": number}).encode()
        placed[number] = web.post(f"{base}/orders/{number}", body)

    with framework.start(way, "aiokafka", *uvicorn, env=broker.env) as server:
        # A rebalance during the test could repeat a record whose offset is not committed yet.
        server.wait_until(lambda: broker.assigned("billing") == 2)
        numbers = iter(range(100_000))

        def both_workers_have_served() -> bool:
            with ThreadPoolExecutor(4) as threads:
                list(threads.map(place, [next(numbers) for _ in range(20)]))
            return len({one["worker"] for one in placed.values()}) == 2

        server.wait_until(both_workers_have_served)
        server.wait_until(lambda: broker.all_committed("billing", "orders"))
        server.stop()
    records = {(record.partition, record.offset): record for record in broker.records("orders")}
    assert len(records) == len(placed)
    for number, reported in placed.items():
        assert records[reported["partition"], reported["offset"]].key == b"%d" % number
    invoices = Counter(json.loads(value or b"")["id"] for value in broker.values("invoices"))
    assert invoices == Counter(list(placed))
