"""Records for the tests of consumers, and a loop that reads them."""

from __future__ import annotations

from typing import Any

from ottla.compat.kafka import TopicPartition
from ottla.testing import MockCluster
from tests.support.waiting import wait_until

ORDERS = [TopicPartition("orders", partition) for partition in range(3)]


def fill(cluster: MockCluster, count: int, partition: int = 0) -> None:
    """Append records whose values are numbers."""
    cluster.append("orders", partition, [b"%d" % number for number in range(count)])


def read(consumer: Any, count: int) -> list[Any]:
    """Poll until there are so many records."""
    records: list[Any] = []

    def enough() -> bool:
        for some in consumer.poll(timeout_ms=100).values():
            records.extend(some)
        return len(records) >= count

    wait_until(enough)
    return records
