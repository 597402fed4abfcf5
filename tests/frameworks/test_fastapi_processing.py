"""FastAPI with a processor beside it: records that fail, probes, and the end of the processor."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.frameworks.conftest import Broker
from tests.support import web
from tests.support.framework_pages import program as printed
from tests.support.frameworks import Framework
from tests.support.ports import free_ports

FRAMEWORK = "fastapi"
pytestmark = [pytest.mark.deep, pytest.mark.cluster]


def order(number: int, customer: str | None = "c") -> tuple[bytes, bytes]:
    return b"%d" % number, json.dumps({"id": number, "customer": customer}).encode()


@pytest.fixture
def base(broker: Broker) -> Any:
    """The address of the application, with the port that it gets."""
    broker.create("orders", "invoices")
    (port,) = free_ports(1)
    return f"http://127.0.0.1:{port}"


def uvicorn(base: str) -> list[str]:
    port = base.rpartition(":")[2]
    return [word.replace("8000", port) for word in printed("fastapi", "fastapi_billing")]


def test_a_record_that_fails_is_a_dead_letter_and_the_others_are_billed(
    base: str, broker: Broker, framework: Framework
) -> None:
    broker.produce("orders", [order(1), order(2, None), order(3)])
    with framework.start("program", "aiokafka", *uvicorn(base), env=broker.env) as server:
        server.wait_until(lambda: web.responds(f"{base}/health"))
        server.wait_until(lambda: web.get(f"{base}/health")["record-dead-letter-total"] == 1)
        server.wait_until(lambda: len(broker.values("invoices")) == 2)
        health = web.get(f"{base}/health")
        server.stop()
    assert health["billing"] == "running"
    (letter,) = broker.records("orders.dead-letters")
    assert letter.value == order(2, None)[1]
    assert dict(letter.headers)["__ottla.errors.message"] == b"order 2 has no customer"
    # The end of the application has committed, and left the group.
    assert broker.all_committed("billing", "orders")
    assert broker.assigned("billing") == 0


def test_a_processor_that_has_ended_makes_the_probe_fail(
    base: str, broker: Broker, framework: Framework
) -> None:
    """No topic, no processor; the application itself still responds."""
    broker.kafka.delete_topic("orders")
    with framework.start("program", "aiokafka", *uvicorn(base), env=broker.env) as server:
        server.wait_until(lambda: web.responds(f"{base}/health"))
        server.wait_until(lambda: web.status(f"{base}/health") == 503)
        output = server.stop()
    assert "billing has ended" in output
    assert "these topics do not exist" in output
