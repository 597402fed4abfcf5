"""confluent-kafka, to check with librdkafka what ottla wrote."""

from __future__ import annotations

import time
from collections.abc import Iterable

from confluent_kafka import Consumer, Message, Producer, TopicPartition

_TIMEOUT = 180.0


def consumer(bootstrap: str) -> Consumer:
    """Create a consumer for assigned partitions, which checks CRCs."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "second-opinion",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": False,
            "check.crcs": True,
            "fetch.message.max.bytes": 4_000_000,
            "log_level": 0,
        }
    )


def read_all(
    bootstrap: str, topic: str, partitions: Iterable[int]
) -> dict[tuple[int, int], Message]:
    """Return every record of a topic, by partition and offset."""
    reader = consumer(bootstrap)
    try:
        ends: dict[int, int] = {}
        assigned = []
        for partition in partitions:
            target = TopicPartition(topic, partition)
            low, high = reader.get_watermark_offsets(target, timeout=60)
            if low < high:
                ends[partition] = high
                assigned.append(TopicPartition(topic, partition, low))
        reader.assign(assigned)
        found: dict[tuple[int, int], Message] = {}
        deadline = time.monotonic() + _TIMEOUT
        while ends:
            if time.monotonic() > deadline:
                raise AssertionError(f"{topic}: read {len(found)} records, but not up to {ends}")
            for message in reader.consume(10_000, timeout=0.2):
                if message.error():
                    continue
                index, offset = message.partition(), message.offset()
                assert index is not None
                assert offset is not None
                found[index, offset] = message
            for position in reader.position(assigned):
                if position.offset >= ends.get(position.partition, 1 << 62):
                    del ends[position.partition]
        return found
    finally:
        reader.close()


def producer(bootstrap: str, **config: str | int) -> Producer:
    """Create a producer; underscores in keyword arguments stand for dots."""
    named = {name.replace("_", "."): value for name, value in config.items()}
    return Producer(
        {"bootstrap.servers": bootstrap, "log_level": 0, "message.max.bytes": 4_000_000, **named}
    )
