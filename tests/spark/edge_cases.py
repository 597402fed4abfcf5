"""Edge cases of records and logs: nulls, headers, transactions, compaction."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import confluent_kafka

import ottla
from tests.support.kafka_admin import wait_until

if TYPE_CHECKING:
    from tests.support.kafka_cluster import KafkaCluster

COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": "100",
}
# For records of ten megabytes; the producer needs the same limit.
LARGE = {"max.message.bytes": "12000000"}
LARGE_PRODUCER: dict[str, Any] = {"max_request_size": 12_000_000, "buffer_memory": 64_000_000}

Headers = list[tuple[str, bytes | None]]


@dataclass(frozen=True)
class Message:
    key: bytes | None
    value: bytes | None
    headers: Headers
    partition: int


def edge_case_messages() -> list[Message]:
    """Return records with null, empty and large parts, and such headers, also repeated."""
    big = random.Random(1).randbytes(1_000_000)
    messages = [
        Message(b"k", b"v", [], 0),
        Message(None, b"no key", [], 1),
        Message(b"no value", None, [("h", b"1")], 0),
        Message(None, None, [], 1),
        Message(b"", b"", [("", b"")], 0),
        Message(b"\x00\xff", "grüße ✓".encode(), [("naïve ✓", b"\x00\xff"), ("null", None)], 1),
        Message(b"dup", b"dup", [("a", b"1"), ("b", b"2"), ("a", b"3"), ("a", None)], 0),
        Message(b"big", big, [("big", big[:1000])], 1),
    ]
    return messages + [Message(b"k%d" % i, b"v%d" % i * 10, [], i % 2) for i in range(500)]


def send(kafka: KafkaCluster, topic: str, messages: list[Message], **config: Any) -> None:
    with ottla.Producer(kafka.bootstrap, **config) as producer:
        for m in messages:
            producer.send(topic, value=m.value, key=m.key, headers=m.headers, partition=m.partition)
        producer.flush()


def compact(kafka: KafkaCluster, topic: str) -> None:
    """Write 301 records with 8 keys to a topic with COMPACTED, and wait until 8 remain."""
    for _ in range(3):
        send(kafka, topic, [Message(b"k%d" % (i % 7), b"v%d" % i, [], 0) for i in range(100)])
        # The next append closes the segment, and only closed segments are compacted.
        time.sleep(0.2)
    send(kafka, topic, [Message(b"last", b"", [], 0)])
    with ottla.Client(kafka.bootstrap) as client:

        def left() -> int:
            with client.scan([(topic, 0, 0, 301)], columns=["offset"]) as scan:
                return sum(batch.num_rows for batch in scan)

        wait_until(lambda: left() == 8, lambda: f"{left()} records are left", 240)


@contextlib.contextmanager
def transactions(kafka: KafkaCluster, name: str) -> Iterator[Callable[..., None]]:
    """Return `write(topic, values, end)`, a transaction with end "commit", "abort" or "leave"."""
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "transactional.id": name,
            # A transaction that is left open must stay open during all reads.
            "transaction.timeout.ms": 600_000,
            "log_level": 0,
        }
    )
    producer.init_transactions(120)

    def write(topic: str, values: list[str], end: str) -> None:
        producer.begin_transaction()
        for i, value in enumerate(values):
            producer.produce(topic, value, partition=i % 2)
        producer.flush(120)
        if end == "commit":
            producer.commit_transaction(120)
        elif end == "abort":
            producer.abort_transaction(120)

    yield write
