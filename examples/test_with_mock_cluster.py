"""pytest with a Kafka cluster in the process: the application's own logic, and its bad days.

pip install ottla pytest
pytest examples/test_with_mock_cluster.py
"""

from __future__ import annotations

import pytest

import ottla
from ottla.testing import Fault, MockCluster


def bill(bootstrap: str) -> int:
    """The application: read all orders, write one invoice each, then commit."""
    with (
        ottla.Consumer(
            bootstrap,
            group_id="billing",
            topics=["orders"],
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as consumer,
        ottla.Producer(bootstrap) as producer,
    ):
        orders = consumer.poll(timeout=10)
        invoices = [producer.send("invoices", order.value, key=order.key) for order in orders]
        for invoice in invoices:
            invoice.result()  # raises if it was not written
        consumer.commit()
        return len(orders)


@pytest.fixture
def orders(mock_cluster: MockCluster) -> MockCluster:
    """Three orders in a topic of one partition."""
    mock_cluster.create_topic("orders", partitions=1)
    mock_cluster.create_topic("invoices", partitions=1)
    mock_cluster.append("orders", 0, [b"one", b"two", b"three"])
    return mock_cluster


def test_each_order_has_an_invoice(orders: MockCluster) -> None:
    assert bill(orders.bootstrap) == 3
    assert orders.end_offset("invoices", 0) == 3
    assert orders.committed("billing") == {("orders", 0): 3}


def test_a_lost_response_writes_no_invoice_twice(orders: MockCluster) -> None:
    lost = orders.inject(Fault.disconnect("after"), api="Produce", times=1)
    assert bill(orders.bootstrap) == 3
    assert orders.fault_hits(lost) == 1
    assert orders.end_offset("invoices", 0) == 3


def test_a_leader_that_fails_delays_nothing_for_good(orders: MockCluster) -> None:
    leader = orders.leader("invoices", 0)
    assert leader is not None
    orders.stop_broker(leader)
    assert bill(orders.bootstrap) == 3


def test_nothing_is_committed_when_invoices_are_refused(orders: MockCluster) -> None:
    orders.inject(Fault.error("TOPIC_AUTHORIZATION_FAILED"), api="Produce", topic="invoices")
    with pytest.raises(ottla.errors.AuthorizationError):
        bill(orders.bootstrap)
    assert orders.committed("billing") == {}
