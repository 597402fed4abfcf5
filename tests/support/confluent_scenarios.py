"""What scenarios share that run with confluent-kafka and with its stand-in, on real Kafka.

A scenario takes the package, the addresses of the brokers and a new topic, and returns a trace to
compare. Invariants: a trace has no names, times or texts that differ between two runs; a wait that
lasts too long is a failure.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

Trace: TypeAlias = list[Any]
Scenario: TypeAlias = Callable[[Any, str, str], Trace]

PATIENCE = 60.0


def consumer_config(bootstrap: str, **more: Any) -> dict[str, Any]:
    """Return the configuration of a consumer of a new group that begins at the first record."""
    keys = {name.replace("_", "."): value for name, value in more.items()}
    base: dict[str, Any] = {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest"}
    # A fetch that waits at the end of a partition delays the next one.
    base["fetch.wait.max.ms"] = 20
    return {**base, "group.id": f"group-{uuid.uuid4().hex[:8]}", **keys}


def wait_for(condition: Callable[[], object]) -> None:
    """Repeat what the condition does until it holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline


def poll_until(consumer: Any, condition: Callable[[], object]) -> list[Any]:
    """Poll until a condition holds, and return the messages."""
    found = []
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        if (message := consumer.poll(0.05)) is not None:
            found.append(message)
    return found


def read(consumer: Any, count: int) -> list[Any]:
    """Return so many messages, errors included."""
    found: list[Any] = []
    deadline = time.monotonic() + PATIENCE
    while len(found) < count:
        assert time.monotonic() < deadline
        found += consumer.consume(count - len(found), 1.0)
    return found


def produce(peer: Any, bootstrap: str, topic: str, count: int) -> None:
    """Write so many records to partition 0, with their numbers as keys, values and times."""
    producer = peer.Producer({"bootstrap.servers": bootstrap})
    for number in range(count):
        text = str(number)
        producer.produce(topic, text, text, 0, timestamp=1000 + number)
    assert producer.flush(PATIENCE) == 0
    producer.close()


def refusals(peer: Any, calls: Iterable[Callable[[], object]]) -> Trace:
    """Return the name of the error of each call."""
    found = []
    for call in calls:
        try:
            call()
        except peer.KafkaException as error:
            found.append(error.args[0].name())
        else:
            found.append("no error")
    return found


def plain(partitions: Iterable[Any]) -> Trace:
    """Return what a ``TopicPartition`` has, but for its topic, in order."""
    return sorted(
        (part.partition, part.offset, str(part.metadata), part.error is None) for part in partitions
    )
