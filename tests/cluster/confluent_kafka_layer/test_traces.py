"""The same program on the original and on the layer, on real Kafka, with the same trace."""

from __future__ import annotations

import importlib
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.cluster

PATIENCE = 60.0
PEERS = ("confluent_kafka", "ottla.compat.confluent_kafka")


def _poll_until(consumer: Any, condition: Callable[[], object]) -> list[Any]:
    found = []
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        if (message := consumer.poll(0.05)) is not None:
            found.append(message)
    return found


def _read(consumer: Any, count: int) -> list[Any]:
    found: list[Any] = []
    deadline = time.monotonic() + PATIENCE
    while len(found) < count:
        assert time.monotonic() < deadline
        found += consumer.consume(count - len(found), 1.0)
    return found


def _config(bootstrap: str, group: str, **more: Any) -> dict[str, Any]:
    keys = {name.replace("_", "."): value for name, value in more.items()}
    base = {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest"}
    return {**base, "group.id": f"{group}-{uuid.uuid4().hex[:8]}", **keys}


def _produced(peer: Any, bootstrap: str, topic: str, count: int, partitions: int) -> None:
    producer = peer.Producer({"bootstrap.servers": bootstrap})
    for number in range(count):
        producer.produce(topic, f"{number}", key=f"{number}", partition=number % partitions)
    assert producer.flush(PATIENCE) == 0
    producer.close()


def rebalances(peer: Any, bootstrap: str, topic: str) -> list[Any]:
    """Two members with callbacks: the second joins, then the first leaves."""
    config = _config(bootstrap, "rebalances", session_timeout_ms=6000, heartbeat_interval_ms=200)
    trace: list[Any] = []

    def member(name: str) -> Any:
        def callback(kind: str) -> Any:
            return lambda _, parts: trace.append((name, kind, len(parts)))

        consumer = peer.Consumer(config)
        kinds = ("on_assign", "on_revoke", "on_lost")
        consumer.subscribe([topic], **{kind: callback(kind) for kind in kinds})
        return consumer

    first = member("first")
    _poll_until(first, lambda: len(first.assignment()) == 4)
    second = member("second")

    def shared() -> bool:
        second.poll(0.05)
        return len(first.assignment()) == len(second.assignment()) == 2

    _poll_until(first, shared)
    first.close()
    _poll_until(second, lambda: len(second.assignment()) == 4)
    second.close()
    # The two members are called in either order.
    return sorted(trace)


def stored_offsets(peer: Any, bootstrap: str, topic: str) -> list[Any]:
    """An application stores what it has processed, and ends without closing."""
    _produced(peer, bootstrap, topic, 10, 1)
    config = _config(bootstrap, "stored", enable_auto_offset_store=False)
    config["auto.commit.interval.ms"] = 100
    crashed = peer.Consumer({**config, "session.timeout.ms": 6000})
    crashed.subscribe([topic])
    messages = _read(crashed, 10)
    crashed.store_offsets(messages[3])
    part = peer.TopicPartition(topic, 0)
    deadline = time.monotonic() + PATIENCE
    while crashed.committed([part], PATIENCE)[0].offset != 4:
        assert time.monotonic() < deadline
    del crashed
    successor = peer.Consumer(config)
    successor.subscribe([topic])
    (message,) = _read(successor, 1)
    successor.close()
    return [message.offset(), message.key(), message.value(), message.leader_epoch()]


def open_transaction(peer: Any, bootstrap: str, topic: str) -> list[Any]:
    """A reader beside a transaction that is open, aborted and committed."""
    identity = f"open-{uuid.uuid4().hex[:8]}"
    producer = peer.Producer({"bootstrap.servers": bootstrap, "transactional.id": identity})
    producer.init_transactions(PATIENCE)
    consumer = peer.Consumer(_config(bootstrap, "transactions", enable_partition_eof=True))
    part = peer.TopicPartition(topic, 0)
    consumer.assign([part])
    trace: list[Any] = []
    for end, expected in (
        (producer.abort_transaction, (0, 2)),
        (producer.commit_transaction, (0, 4)),
    ):
        producer.begin_transaction()
        producer.produce(topic, b"v", partition=0)
        assert producer.flush(PATIENCE) == 0
        trace.append(consumer.get_watermark_offsets(part, PATIENCE))
        end(PATIENCE)
        # The end of the transaction is in the log, and shows a little later.
        deadline = time.monotonic() + PATIENCE
        while consumer.get_watermark_offsets(part, PATIENCE) != expected:
            assert time.monotonic() < deadline
    (message,) = [found for found in _read(consumer, 2) if found.error() is None]
    trace.append((message.offset(), message.value()))
    producer.close()
    consumer.close()
    return trace


def errors(peer: Any, bootstrap: str, topic: str) -> list[Any]:
    """What is refused, and with which code."""
    trace: list[Any] = []
    consumer = peer.Consumer(_config(bootstrap, "errors"))
    missing = f"{topic}-missing"
    consumer.subscribe([missing])
    (message,) = _read(consumer, 1)
    trace.append((message.error().name(), message.topic() == missing))
    producer = peer.Producer({"bootstrap.servers": bootstrap})
    producer.produce(
        topic,
        b"v",
        partition=99,
        on_delivery=lambda error, found: trace.append((error.name(), found.partition())),
    )
    assert producer.flush(PATIENCE) == 0
    part = peer.TopicPartition
    calls: tuple[Callable[[], object], ...] = (
        lambda: consumer.offsets_for_times([part(topic, 99, 0)], PATIENCE),
        lambda: consumer.commit(offsets=[part(topic, 0)], asynchronous=False),
        lambda: consumer.seek(part(topic, 0, 1)),
        lambda: consumer.store_offsets(offsets=[part(topic, 0, 1)]),
        lambda: producer.produce("t", b"x" * 2_000_000),
    )
    for call in calls:
        try:
            call()
        except peer.KafkaException as error:
            trace.append(error.args[0].name())
    producer.close()
    consumer.close()
    return trace


@pytest.mark.parametrize(
    ("program", "partitions"),
    [(rebalances, 4), (stored_offsets, 1), (open_transaction, 1), (errors, 1)],
)
def test_both_have_the_same_trace(
    kafka: KafkaCluster, program: Callable[[Any, str, str], list[Any]], partitions: int
) -> None:
    traces = []
    for name in PEERS:
        topic = f"trace-{uuid.uuid4().hex[:12]}"
        kafka.create_topic(topic, partitions, 3)
        traces.append(program(importlib.import_module(name), kafka.bootstrap, topic))
    assert traces[0] == traces[1]
