"""Consumers of confluent-kafka, or of its stand-in, in tests: configuration, records, polls.

Invariant: a wait that lasts too long is a failure.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ottla.testing import MockCluster

PATIENCE = 30.0


def consumer_config(cluster: MockCluster, group: str, **more: Any) -> dict[str, Any]:
    """Return the configuration of a consumer that begins at the first record."""
    keys = {name.replace("_", "."): value for name, value in more.items()}
    return {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        **keys,
    }


def fill(cluster: MockCluster, name: str, count: int = 5, partitions: int = 1) -> None:
    """Create a topic with so many records in each partition."""
    cluster.create_topic(name, partitions=partitions)
    for partition in range(partitions):
        cluster.append(name, partition, [b"%d" % number for number in range(count)])


def next_message(consumer: Any) -> Any:
    """Return the next message or error."""
    deadline = time.monotonic() + PATIENCE
    while (message := consumer.poll(0.5)) is None:
        assert time.monotonic() < deadline
    return message


def read(consumer: Any, count: int) -> list[Any]:
    """Return so many messages."""
    found: list[Any] = []
    while len(found) < count:
        message = next_message(consumer)
        assert message.error() is None, message.error()
        found.append(message)
    return found


def poll_until(consumer: Any, condition: Callable[[], object]) -> None:
    """Poll until a condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        consumer.poll(0.05)
