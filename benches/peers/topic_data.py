"""Topics full of records, written by confluent-kafka, for the benchmarks that consume."""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import Producer

from tests.support.kafka_cluster import KafkaCluster

_DISTINCT = 10_000


def values(size: int, count: int = _DISTINCT) -> list[bytes]:
    """Return distinct values whose second half compresses to almost nothing."""
    source = random.Random(size)
    half = size // 2
    return [source.randbytes(half) + bytes(size - half) for _ in range(count)]


def keys(count: int = _DISTINCT) -> list[bytes]:
    """Return distinct keys of nine bytes."""
    return [f"key-{n:05}".encode() for n in range(count)]


@dataclass(frozen=True)
class TopicData:
    """A topic and its records."""

    value_bytes: int
    codec: str
    records: int
    partitions: int
    replicas: int = 1
    with_keys: bool = False


def fill_topic(kafka: KafkaCluster, data: TopicData) -> str:
    """Create a topic and write records round-robin to its partitions, in 1 MB batches."""
    topic = f"filled-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(topic, data.partitions, data.replicas)
    write_records(kafka, topic, data, values(data.value_bytes))
    return topic


def write_records(kafka: KafkaCluster, topic: str, data: TopicData, some: Sequence[bytes]) -> None:
    """Write records with these values, repeated, to a topic's partitions, in 1 MB batches."""
    some_keys = keys() if data.with_keys else [None]
    failed: list[object] = []
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "linger.ms": 50,
            "batch.size": 1_000_000,
            "batch.num.messages": 100_000,
            "compression.type": data.codec,
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": 1_048_576,
            "delivery.report.only.error": True,
            "on_delivery": lambda error, _: failed.append(error),
        }
    )
    for n in range(data.records):
        value, key = some[n % len(some)], some_keys[n % len(some_keys)]
        while True:
            try:
                producer.produce(topic, value, key, partition=n % data.partitions)
                break
            except BufferError:
                producer.poll(0.05)
    if producer.flush(120) or failed:
        raise SystemExit(f"not all was delivered: {failed[:1]}")
