"""Scenarios of what fails: as messages, as exceptions, and as events."""

from __future__ import annotations

import time
from typing import Any

from tests.support.confluent_scenarios import (
    PATIENCE,
    Trace,
    consumer_config,
    produce,
    read,
    refusals,
    wait_for,
)


def errors(peer: Any, bootstrap: str, topic: str) -> Trace:
    """What is refused, and with which code."""
    trace: Trace = []
    consumer = peer.Consumer(consumer_config(bootstrap))
    missing = f"{topic}-missing"
    consumer.subscribe([missing])
    (message,) = read(consumer, 1)
    error = message.error()
    trace.append(error == peer.KafkaError.UNKNOWN_TOPIC_OR_PART)
    trace.append((error.name(), error.code(), error.retriable(), error.fatal(), bool(error.str())))
    trace.append((error.txn_requires_abort(), message.topic() == missing))
    producer = peer.Producer({"bootstrap.servers": bootstrap})
    producer.produce(
        topic,
        b"v",
        partition=99,
        on_delivery=lambda error, found: trace.append((error.name(), found.partition())),
    )
    assert producer.flush(PATIENCE) == 0
    part = peer.TopicPartition
    calls = (
        lambda: consumer.commit(offsets=[part(topic, 0)], asynchronous=False),
        lambda: consumer.seek(part(topic, 0, 1)),
        lambda: consumer.store_offsets(offsets=[part(topic, 0, 1)]),
        lambda: producer.produce("t", b"x" * 2_000_000),
        lambda: consumer.subscribe([""]),
        lambda: peer.Producer({"no.such.key": 1}),
    )
    trace += refusals(peer, calls)
    producer.close()
    consumer.close()
    return trace


def late_polls(peer: Any, bootstrap: str, topic: str) -> Trace:
    """A member that does not poll for too long loses its partitions, and comes back."""
    produce(peer, bootstrap, topic, 2)
    config = consumer_config(bootstrap, group_protocol="consumer", max_poll_interval_ms=500)
    consumer = peer.Consumer({**config, "enable.auto.commit": False})
    lost: list[int] = []
    consumer.subscribe([topic], on_lost=lambda _, parts: lost.append(len(parts)))
    read(consumer, 2)
    time.sleep(1.5)  # the application is busy
    late: list[Any] = []
    offsets: list[int] = []

    def is_back() -> bool:
        if (message := consumer.poll(0.05)) is not None and message.error() is not None:
            late.append(message.error())
        elif message is not None:
            offsets.append(message.offset())
        return bool(lost and late and offsets)

    wait_for(is_back)
    is_late = late[0] == peer.KafkaError._MAX_POLL_EXCEEDED
    trace: Trace = [len(late), is_late, late[0].name(), lost, offsets[0]]
    consumer.close()
    return trace


def unreachable_brokers(peer: Any, bootstrap: str, topic: str) -> Trace:
    """Nobody listens: events for polls, and errors of calls."""
    del bootstrap, topic
    found: list[Any] = []
    nowhere = {"bootstrap.servers": "127.0.0.1:1", "error_cb": found.append}
    producer = peer.Producer(nowhere)
    wait_for(lambda: producer.poll(0.1) and peer.KafkaError._ALL_BROKERS_DOWN in found)
    names = sorted({error.name() for error in found})
    refused = refusals(peer, [lambda: producer.list_topics(timeout=0.2)])
    producer.produce("t", b"v")
    left = producer.flush(0.1)
    producer.purge()
    return [names, refused, left, producer.flush(PATIENCE)]
